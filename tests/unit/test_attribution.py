"""What the message of a commit says of where it came from."""

import pytest

from loreline.core.attribution import named_request, picked_from
from loreline.core.entities import Kind
from loreline.core.references import EntityRef

SHA, OTHER = "a" * 40, "b" * 40


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("Merge 'x'\n\nDo it\n\nSee merge request team/app!12", EntityRef(12, Kind.MERGE_REQUEST, "team/app")),
        ("Squashed\n\nSee merge request !7\n", EntityRef(7, Kind.MERGE_REQUEST)),
        ("Two\n\nSee merge request a/b!1\nSee merge request a/b!2", EntityRef(2, Kind.MERGE_REQUEST, "a/b")),
        ("We see merge request !7 as done", None),
        ("See merge request of last week", None),
        ("See merge request team/app#12", None),
        ("Nothing of it", None),
    ],
)  # fmt: skip
def test_a_merge_request_is_named_on_a_line_of_its_own(message, named):
    assert named_request(message) == named


def test_the_last_pick_comes_first():
    message = f"Fix\n\n(cherry picked from commit {SHA})\n(cherry picked from commit {OTHER})\n"
    assert picked_from(message) == [OTHER, SHA]
    assert picked_from(f"Fix, see (cherry picked from commit {SHA}) there") == []
