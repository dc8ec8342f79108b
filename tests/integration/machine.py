"""Random histories: people edit, the network fails, syncs die; in the end the mirror must be GitLab.

`Histories` is a hypothesis state machine. What can be seen without its `updated_at` moving decides how the
mirror is brought up to date at the end: by plain syncs, by `--reconcile` or by `--full`.
"""

import contextlib
import random
import shutil
import tempfile
import time
from enum import IntEnum
from pathlib import Path
from typing import ClassVar
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.integration import oracle
from tests.integration.harness import (
    Process,
    cancelled_sync,
    config,
    query,
    settings,
    sync,
    truth,
    until,
)

from loreline.errors import LoreError
from loreline.gitlab import endpoints
from loreline.simulator import Fault, World, edits, running

BOTH = ("issues", "merge_requests")
PEOPLE = ("ada", "grace", "linus", "margaret")
DAY = 86_400


class Sight(IntEnum):
    """How the traces of an edit can be found."""

    PLAIN = 0
    """`updated_at` tells of it, or the mirror knows by itself where to look again."""
    LISTED = 1
    """Only a list shows it, with an old `updated_at`: found by `--reconcile` and by the sweep."""
    NOWHERE = 2
    """No list shows it: found by `--full`."""


class Editor:
    """Makes random edits that fit the world as it is."""

    def __init__(self, world, projects):
        self.world = world
        self.projects = list(projects)
        self.fresh = 0
        self.clean_at = ""
        """When the mirror last had everything."""
        self.may_lose = True
        self.lost = False
        """A text went before the mirror saw it: nothing but the "mentioned in" notes it left tells of it."""
        self.counts = {}

    def perform(self, name, seed):
        """One edit; False when nothing fits it."""
        chance = random.Random(seed)
        with self.world.lock:
            done = getattr(self, f"_{name}")(chance)
        if done is not False:
            self.counts[name] = self.counts.get(name, 0) + 1
        return done is not False

    # ── what there is ──

    def project(self, chance):
        return chance.choice(self.projects)

    def some(self, chance, kinds=BOTH, test=bool):
        """(project, kind, live) of an entity that a test accepts, or None."""
        wanted = [(project, kind) for project in self.projects for kind in kinds]
        chance.shuffle(wanted)
        for project, kind in wanted:
            place = self.world.place(project)
            rows = list(place.shelves[kind].rows())
            chance.shuffle(rows)
            for row in rows[:8]:
                live = place.thaw(kind, row)
                if test(live):
                    return project, kind, live
        return None

    def text(self, chance, project):
        """Words with references to what there is, will be, or is elsewhere."""
        words = ["shipping", "naïve café", "日本", "`code #3`", "a\tb", "<!-- #9 -->", "C#7x", "see"]
        parts = [chance.choice(words)]
        for _ in range(chance.choice((0, 0, 1, 1, 2))):
            where = chance.choice(self.projects)
            sign = chance.choice("#!")
            kind = "issues" if sign == "#" else "merge_requests"
            top = self.world.place(where).shelves[kind].top_iid()
            number = chance.randint(1, top + 2)
            parts.append(chance.choice(("see", "like", "after")))
            parts.append(f"{sign}{number}" if where == project else f"{self.world.place(where).path}{sign}{number}")
        if chance.random() < 0.05:
            parts.append(f"{self.world.place(project).web_url}/-/issues/{chance.randint(1, 6)}#note_5")
        return " ".join(parts) + chance.choice(("", ".", "\n\nmore"))

    def who(self, chance):
        return chance.choice(PEOPLE)

    def takes_back(self, *texts):
        """Whether what is about to go, as (changed at, text), would be lost, in a history that must not lose it."""
        loses = any(changed > self.clean_at and ("#" in text or "!" in text) for changed, text in texts)
        self.lost |= loses and self.may_lose
        return loses and not self.may_lose

    def takes_back_all(self, live):
        notes = [(note["updated_at"], note["body"]) for thread in live.discussions for note in thread["notes"]]
        own = (live.fields["updated_at"], f"{live.fields['title']} {live.fields['description']}")
        return self.takes_back(own, *notes)

    def new_name(self, word):
        self.fresh += 1
        return f"{word}-{self.fresh}"

    # ── seen by plain syncs ──

    def _create_issue(self, chance):
        project = self.project(chance)
        edits.create_issue(
            self.world,
            project,
            self.text(chance, project),
            description=self.text(chance, project),
            author=self.who(chance),
            assignees=chance.sample(PEOPLE, chance.randint(0, 2)),
            confidential=chance.random() < 0.1,
        )

    def _create_merge_request(self, chance):
        project = self.project(chance)
        issues = [live.iid for _, _, live in self._open_issues(project)]
        closing = f"\n\nCloses #{chance.choice(issues)}" if issues and chance.random() < 0.5 else ""
        edits.create_merge_request(
            self.world,
            project,
            chance.choice(("", "Draft: ")) + self.text(chance, project),
            description=self.text(chance, project) + closing,
            author=self.who(chance),
            reviewers=chance.sample(PEOPLE, chance.randint(0, 2)),
            diffs=self._diffs(chance),
        )

    def _open_issues(self, project):
        place = self.world.place(project)
        lives = [place.thaw("issues", row) for row in place.shelves["issues"].rows()]
        return [(project, "issues", live) for live in lives if live.fields["state"] == "opened"]

    def _diffs(self, chance):
        made = []
        for _ in range(chance.randint(0, 3)):
            name = f"src/{chance.choice('abc')}.py"
            diff = {"new_path": name, "diff": "@@ -1 +1,2 @@\n-old\n+new\n+more\n" if chance.random() < 0.8 else ""}
            flag = chance.choice(("new_file", "deleted_file", "renamed_file", "generated_file", "too_large"))
            made.append({**diff, flag: True, "old_path": f"src/{chance.choice('xyz')}.py"})
        return made

    def _edit_text(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        project, kind, live = found
        fields = chance.choice((("title",), ("description",), ("title", "description")))
        given = {field: self.text(chance, project) for field in fields}
        if self.takes_back(*((live.fields["updated_at"], live.fields[field]) for field in fields)):
            return False
        edits.edit_text(self.world, project, kind, live.iid, author=self.who(chance), **given)
        return True

    def _close(self, chance):
        found = self.some(chance, test=lambda live: live.fields["state"] == "opened")
        if found is None:
            return False
        project, kind, live = found
        by = None
        requests = self.world.place(project).shelves["merge_requests"]
        if kind == "issues" and chance.random() < 0.5 and len(requests):
            by = requests.iid(chance.choice(list(requests.rows())))
        edits.close(self.world, project, kind, live.iid, author=self.who(chance), by_merge_request=by)
        return True

    def _reopen(self, chance):
        found = self.some(chance, test=lambda live: live.fields["state"] == "closed")
        if found is None:
            return False
        edits.reopen(self.world, found[0], found[1], found[2].iid, author=self.who(chance))
        return True

    def _assign(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        people = chance.sample(PEOPLE, chance.randint(0, 3))
        edits.assign(self.world, found[0], found[1], found[2].iid, people, author=self.who(chance))
        return True

    def _set_confidential(self, chance):
        found = self.some(chance, ("issues",))
        if found is None:
            return False
        edits.set_confidential(self.world, found[0], found[2].iid, confidential=chance.random() < 0.5)
        return True

    def _merge(self, chance):
        found = self.some(chance, ("merge_requests",), lambda live: live.fields["state"] == "opened")
        if found is None:
            return False
        edits.merge(self.world, found[0], found[2].iid, squash=chance.random() < 0.5, author=self.who(chance))
        return True

    def _push(self, chance, *, touching=True):
        found = self.some(chance, ("merge_requests",))
        if found is None:
            return False
        diffs = self._diffs(chance) if chance.random() < 0.7 else None
        edits.push(self.world, found[0], found[2].iid, diffs=diffs, author=self.who(chance), touching=touching)
        return True

    def _rebase(self, chance, *, touching=True):
        found = self.some(chance, ("merge_requests",))
        if found is None:
            return False
        edits.rebase(self.world, found[0], found[2].iid, author=self.who(chance), touching=touching)
        return True

    def _set_reviewers(self, chance):
        found = self.some(chance, ("merge_requests",))
        if found is None:
            return False
        edits.set_reviewers(self.world, found[0], found[2].iid, chance.sample(PEOPLE, chance.randint(0, 3)))
        return True

    def _add_note(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        project, kind, live = found
        how = {}
        style = chance.choice(("lone", "thread", "reply", "diff", "internal"))
        if style == "thread":
            how["thread"] = True
        if style == "internal":
            how["internal"] = True
        if style == "reply":
            threads = [one for one in live.discussions if not one["notes"][0]["system"]]
            if threads:
                how["discussion_id"] = chance.choice(threads)["id"]
        if style == "diff" and kind == "merge_requests":
            how["position"] = {"new_path": "src/a.py", "new_line": chance.randint(1, 9)}
        edits.add_note(self.world, project, kind, live.iid, self.text(chance, project), author=self.who(chance), **how)
        return True

    def _noted(self, chance, kinds=BOTH):
        """(project, kind, live, note) of a person's note."""

        def notes_of(live):
            return [note for thread in live.discussions for note in thread["notes"] if not note["system"]]

        found = self.some(chance, kinds, notes_of)
        return None if found is None else (*found, chance.choice(notes_of(found[2])))

    def _edit_note(self, chance):
        found = self._noted(chance)
        if found is None:
            return False
        project, kind, live, note = found
        if self.takes_back((note["updated_at"], note["body"])):
            return False
        edits.edit_note(self.world, project, kind, live.iid, note["id"], self.text(chance, project))
        return True

    def _add_label(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        edits.add_label(self.world, found[0], found[1], found[2].iid, chance.choice(("bug", "ui", "löw", "x::y")))
        return True

    def _remove_label(self, chance):
        found = self.some(chance, test=lambda live: live.fields["labels"])
        if found is None:
            return False
        label = chance.choice(found[2].fields["labels"])
        edits.remove_label(self.world, found[0], found[1], found[2].iid, label)
        return True

    def _create_label(self, chance):
        edits.create_label(self.world, self.project(chance), self.new_name("label"))

    def _create_milestone(self, chance):
        edits.create_milestone(self.world, self.project(chance), self.new_name("v"))

    def _set_milestone(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        titles = [one["title"] for one in self.world.place(found[0]).milestones.values()]
        title = chance.choice([None, *titles])
        edits.set_milestone(self.world, found[0], found[1], found[2].iid, title, author=self.who(chance))
        return True

    def _move_issue(self, chance):
        found = self.some(chance, ("issues",), lambda live: live.fields["moved_to_id"] is None)
        if found is None:
            return False
        other = next(project for project in self.projects if project != found[0])
        edits.move_issue(self.world, found[0], found[2].iid, other, author=self.who(chance))
        return True

    def _archive_project(self, chance):
        edits.archive_project(self.world, self.project(chance), archived=chance.random() < 0.5)

    def _set_feature(self, chance):
        edits.set_feature(self.world, self.project(chance), chance.choice(BOTH), enabled=chance.random() < 0.5)

    def _hide_project(self, chance):
        edits.hide_project(self.world, self.project(chance), hidden=chance.random() < 0.5)

    # ── seen in lists only ──

    def _push_unseen(self, chance):
        return self._push(chance, touching=False)

    def _rebase_unseen(self, chance):
        return self._rebase(chance, touching=False)

    def _label_unseen(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        edits.add_label(self.world, found[0], found[1], found[2].iid, self.new_name("unseen"), touching=False)
        return True

    def _milestone_unseen(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        title = self.new_name("unseen")
        edits.create_milestone(self.world, found[0], title)
        edits.set_milestone(self.world, found[0], found[1], found[2].iid, title, touching=False)
        return True

    def _delete(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        if self.takes_back_all(found[2]):
            return False
        edits.delete(self.world, found[0], found[1], found[2].iid)
        return True

    def _hide(self, chance):
        found = self.some(chance)
        if found is None:
            return False
        if self.takes_back_all(found[2]):
            return False
        edits.hide(self.world, found[0], found[1], found[2].iid, hidden=chance.random() < 0.6)
        return True

    def _delete_note(self, chance):
        found = self._noted(chance)
        if found is None:
            return False
        if self.takes_back((found[3]["updated_at"], found[3]["body"])):
            return False
        edits.delete_note(self.world, found[0], found[1], found[2].iid, found[3]["id"])
        return True

    def _rename_project(self, chance):
        edits.rename_project(self.world, self.project(chance), f"team/{self.new_name('renamed')}")

    # ── seen nowhere ──

    def _hide_note(self, chance):
        found = self._noted(chance)
        if found is None:
            return False
        hidden = chance.random() < 0.7
        edits.hide_note(self.world, found[0], found[1], found[2].iid, found[3]["id"], hidden=hidden)
        return True

    def _resolve_thread(self, chance):
        def open_threads(live):
            return [one for one in live.discussions if any(note["resolvable"] for note in one["notes"])]

        found = self.some(chance, ("merge_requests",), open_threads)
        if found is None:
            return False
        thread = chance.choice(open_threads(found[2]))
        edits.resolve_thread(
            self.world, found[0], found[2].iid, thread["id"], resolved=chance.random() < 0.7, author=self.who(chance)
        )
        return True

    def _set_diffs(self, chance):
        found = self.some(chance, ("merge_requests",))
        if found is None:
            return False
        edits.set_diffs(self.world, found[0], found[2].iid, self._diffs(chance))
        return True

    def _set_closes(self, chance):
        found = self.some(chance, ("merge_requests",))
        if found is None:
            return False
        issues = [live.iid for _, _, live in self._open_issues(found[0])][:2]
        edits.set_closes(self.world, found[0], found[2].iid, [*issues, {"id": "JIRA-7", "title": "Elsewhere"}])
        return True

    def _edit_user(self, chance):
        person = self.who(chance)
        with contextlib.suppress(LoreError):  # nobody by that name has shown up yet
            edits.edit_user(self.world, person, name=f"{person} {self.new_name('renamed')}")

    def _edit_label(self, chance):
        labels = list(self.world.place(project := self.project(chance)).labels.values())
        if not labels:
            return False
        name = chance.choice(labels)["name"]
        edits.edit_label(self.world, project, name, name=self.new_name("relabelled"), color="#00FF00")
        return True

    def _delete_label(self, chance):
        labels = list(self.world.place(project := self.project(chance)).labels.values())
        if not labels:
            return False
        edits.delete_label(self.world, project, chance.choice(labels)["name"])
        return True

    def _edit_milestone(self, chance):
        milestones = list(self.world.place(project := self.project(chance)).milestones.values())
        if not milestones:
            return False
        edits.edit_milestone(
            self.world, project, chance.choice(milestones)["title"], title=self.new_name("retitled"), state="closed"
        )
        return True

    def _delete_milestone(self, chance):
        milestones = list(self.world.place(project := self.project(chance)).milestones.values())
        if not milestones:
            return False
        edits.delete_milestone(self.world, project, chance.choice(milestones)["title"])
        return True


SIGHTS = {
    "create_issue": Sight.PLAIN,
    "create_merge_request": Sight.PLAIN,
    "edit_text": Sight.PLAIN,
    "close": Sight.PLAIN,
    "reopen": Sight.PLAIN,
    "assign": Sight.PLAIN,
    "set_confidential": Sight.PLAIN,
    "merge": Sight.PLAIN,
    "push": Sight.PLAIN,
    "rebase": Sight.PLAIN,
    "set_reviewers": Sight.PLAIN,
    "add_note": Sight.PLAIN,
    "edit_note": Sight.PLAIN,
    "add_label": Sight.PLAIN,
    "remove_label": Sight.PLAIN,
    "create_label": Sight.PLAIN,
    "create_milestone": Sight.PLAIN,
    "set_milestone": Sight.PLAIN,
    "move_issue": Sight.PLAIN,
    "archive_project": Sight.PLAIN,
    "set_feature": Sight.PLAIN,
    "hide_project": Sight.PLAIN,
    "push_unseen": Sight.LISTED,
    "rebase_unseen": Sight.LISTED,
    "label_unseen": Sight.LISTED,
    "milestone_unseen": Sight.LISTED,
    "delete": Sight.LISTED,
    "hide": Sight.LISTED,
    "delete_note": Sight.LISTED,
    "rename_project": Sight.LISTED,
    "hide_note": Sight.NOWHERE,
    "resolve_thread": Sight.NOWHERE,
    "set_diffs": Sight.NOWHERE,
    "set_closes": Sight.NOWHERE,
    "edit_user": Sight.NOWHERE,
    "edit_label": Sight.NOWHERE,
    "delete_label": Sight.NOWHERE,
    "edit_milestone": Sight.NOWHERE,
    "delete_milestone": Sight.NOWHERE,
}
_RARE = {"archive_project", "set_feature", "hide_project", "rename_project", "create_label", "create_milestone"}
_OFTEN = {"create_issue", "create_merge_request", "add_note", "edit_text"}

FAULTS = (
    Fault("rate_limited"),
    Fault("rate_limited", retry_after=0, count=3),
    Fault("error", status=500, count=4),
    Fault("error", status=502, count=2),
    Fault("error", status=503, path="discussions", count=5),
    Fault("error", status=403, path="discussions"),
    Fault("error", status=400, path="events"),
    Fault("reset", count=3),
    Fault("reset_midway", count=2),
    Fault("cut", count=3),
    Fault("slow", seconds=0.02, count=3),
    Fault("drip", seconds=0.02, count=3),
    Fault("html", count=3),
    Fault("html", path=r"/\d+/\w+$", count=4),
    Fault("truncated_json", count=3),
    Fault("wrong_type", count=3),
    Fault("error", status=500, path=r"projects/team", count=3),
    Fault("error", status=500, path="updated_after", count=9),
    Fault("error", status=500, count=None, probability=0.2),
)
LYING = Fault("empty_list", path="(discussions|events|diffs|commits|closes_issues)", count=2)


class Histories(RuleBasedStateMachine):
    """Two projects of one instance, and a mirror that follows them."""

    performed = 0
    """Operations in all examples: edits, faults, moments, syncs and kills."""
    counts: ClassVar = {}
    real_kills = True

    def __init__(self):
        super().__init__()
        self.stack = contextlib.ExitStack()
        self.folder = Path(tempfile.mkdtemp(prefix="loreline-histories-"))
        self.stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        # Small pages, so that lists change between one and the next. (A process of its own has GitLab's.)
        self.stack.enter_context(mock.patch.object(endpoints, "PAGE", 4))
        self.world = self.stack.enter_context(World())
        # A syncing process has the machine's clock; the world's may only be ahead of it.
        self.world.clock.set(time.time_ns() // 1000)
        self.served = self.stack.enter_context(running(self.world))
        self.projects = [edits.create_project(self.world, path) for path in ("team/app", "team/lib")]
        self.configured = ["team/app", "team/lib"]
        self.database = self.folder / "mirror.db"
        self.settings = settings(self.database, self.served.url, projects=self.configured)
        self.editor = Editor(self.world, self.projects)
        self.deepest = Sight.PLAIN
        self.names = {}

    @initialize(depth=st.sampled_from(Sight), seed=st.integers(0, 2**32))
    def begin(self, depth, seed):
        for sight in Sight:
            allowed = [name for name, found_by in SIGHTS.items() if found_by <= min(sight, depth)]
            weights = [1 if name in _RARE else 6 if name in _OFTEN else 3 for name in allowed]
            self.names[sight] = random.Random(0).choices(allowed, weights, k=400)
        self.depth = depth
        self.editor.may_lose = depth is Sight.NOWHERE
        chance = random.Random(seed)
        self.world.behaviour.keyset_issues = chance.random() < 0.5
        for _ in range(4):
            self._edit("create_issue", chance.randrange(2**32))
            self._edit("create_merge_request", chance.randrange(2**32))

    def _edit(self, name, seed):
        # Times never stand still between two things that people do.
        self.world.clock.advance(random.Random(seed).choice((0.7, 3, 17, 40, 65, 200)))
        if self.editor.perform(name, seed):
            self.deepest = max(self.deepest, Sight.NOWHERE if self.editor.lost else SIGHTS[name])
            Histories.performed += 1
            Histories.counts[name] = Histories.counts.get(name, 0) + 1

    @rule(edited=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 2**32)), min_size=3, max_size=20))
    def people_edit(self, edited):
        for which, seed in edited:
            self._edit(self.names[Sight.NOWHERE][which], seed)

    @rule(edited=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 2**32)), min_size=12, max_size=30))
    def people_edit_more(self, edited):
        self.people_edit(edited)

    @rule(fault=st.sampled_from(FAULTS), skip=st.integers(0, 15))
    def something_will_fail(self, fault, skip):
        self._arm(fault, skip)

    @rule(skip=st.integers(0, 15))
    def gitlab_will_lie(self, skip):
        if self.depth is Sight.NOWHERE:
            self._arm(LYING, skip)
            self.deepest = Sight.NOWHERE

    def _arm(self, fault, skip):
        fields = {name: getattr(fault, name) for name in fault.__struct_fields__}
        with self.world.lock:
            self.world.faults.add(Fault(**fields | {"skip": skip}))
        Histories.performed += 1

    @rule(seconds=st.sampled_from((1, 30, 61, 600, 3_600, DAY, 3 * DAY)))
    def time_passes(self, seconds):
        self.world.clock.advance(seconds)
        Histories.performed += 1

    @rule(how=st.sampled_from(("plain", "plain", "plain", "reconcile", "full", "issues only")))
    def it_syncs(self, how):
        Histories.performed += 1
        options = {"reconcile": how == "reconcile", "full": how == "full"}
        if how == "issues only":
            from loreline.core.entities import Kind

            options["kinds"] = (Kind.ISSUE,)
        with contextlib.suppress(LoreError):
            report = sync(self.settings, self.world, **options)
            if how != "issues only" and not report.failures and not report.put_off and self._all_shown():
                self.editor.clean_at = self.world.now()
        self._stays_sound()

    def _all_shown(self):
        places = [self.world.place(project) for project in self.projects]
        return not any(place.hidden or not all(map(place.feature_enabled, BOTH)) for place in places)

    @rule(after=st.integers(0, 60), full=st.booleans())
    def it_is_interrupted(self, after, full):
        Histories.performed += 1
        with contextlib.suppress(LoreError):
            cancelled_sync(self.settings, self.world, after, full=full)
        self._stays_sound()

    @rule(after=st.integers(0, 60), edited=st.lists(st.integers(0, 2**32), min_size=1, max_size=3))
    def it_is_killed(self, after, edited):
        """kill -9 of a real process, and people go on editing while its writer still lives."""
        if not self.real_kills:
            self.it_is_interrupted(after, full=False)
            return
        Histories.performed += 1
        file = config(self.folder, self.database, self.served.url, self.configured)
        stop_at = self.world.log.total + after
        with Process(file) as process:
            until(lambda: self.world.log.total >= stop_at or process.popen.poll() is not None, 20)
        for seed in edited:
            self._edit("add_note", seed)
        self._stays_sound()

    def _stays_sound(self):
        if not self.database.exists():
            return
        found = [
            told
            for told in query(self.database, "PRAGMA integrity_check")
            + query(self.database, "PRAGMA foreign_key_check")
            if told != ("ok",)
        ]
        assert not found, found

    def teardown(self):
        try:
            if self.names:
                self._comes_to_rest()
                oracle.check(self.database, truth(self.served.url, self.world, *self.projects))
        finally:
            self.stack.close()

    def _comes_to_rest(self):
        """Sync until nothing is left to do, as deep as the edits ask for."""
        self.world.faults.clear()
        for project in self.projects:
            edits.hide_project(self.world, project, hidden=False)
            for kind in BOTH:
                edits.set_feature(self.world, project, kind, enabled=True)
        self._plain_until_quiet()
        if self.deepest is Sight.LISTED:
            sync(self.settings, self.world, reconcile=True)
        elif self.deepest is Sight.NOWHERE:
            sync(self.settings, self.world, full=True)
        self.world.clock.advance(DAY + 3_600)  # labels and milestones are listed once a day
        self._plain_until_quiet()

    def _plain_until_quiet(self):
        for _ in range(8):
            self.world.clock.advance(2 * 3_600)
            report = sync(self.settings, self.world)
            if not (report.failures or report.put_off) and not query(self.database, UNSETTLED):
                return
        raise AssertionError(f"it never comes to rest: {report.failures[:3]}, {report.put_off} put off")


UNSETTLED = (
    "SELECT 1 FROM issues WHERE discussions_fetched_at IS NULL OR discussions_fetched_at < updated_at + 65000"
    " UNION ALL SELECT 1 FROM merge_requests WHERE discussions_fetched_at IS NULL OR"
    " discussions_fetched_at < updated_at + 65000 UNION ALL SELECT 1 FROM pending_dependent_fetches"
)
