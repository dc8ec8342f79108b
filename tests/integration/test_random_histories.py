"""Whatever people do, however syncs fail or die: in the end the mirror is GitLab, row for row."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.integration.machine import Histories


def test_after_random_edits_faults_and_kills_the_mirror_equals_gitlab():
    before = Histories.performed
    run_state_machine_as_test(
        Histories,
        settings=settings(
            max_examples=20,
            stateful_step_count=12,
            deadline=None,
            derandomize=True,
            database=None,
            print_blob=False,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Histories.performed - before > 500
