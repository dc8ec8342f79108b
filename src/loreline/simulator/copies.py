"""Virtual copies of a history: the same stored bytes, answered under other numbers.

A copy shifts the iids and ids that belong to entities, notes, threads and events. Texts, users, labels and
milestones are shared, and times are kept, so a history of any size costs what the first copy does.
"""

from __future__ import annotations

import re

ID_STRIDE = 10**10

_NUMBERED = re.compile(
    rb'"(noteable_id|resource_id|source_merge_request_id)":(\d+)'
    rb'|\{"id":(\d+),"(type|user)":'
    rb'|\{"id":"([0-9a-f]{40})","individual_note"'
)


class Copy:
    """One of the copies; number 0 is the history itself."""

    def __init__(self, number: int, iid_stride: int) -> None:
        self.number = number
        self.id_shift = number * ID_STRIDE
        self.iid_shift = number * iid_stride

    def entity(self, data: bytes, entity_id: int, iid: int) -> bytes:
        """Renumber an issue or merge request; `entity_id` and `iid` are the stored ones."""
        old = b"%d" % iid
        new = b"%d" % (iid + self.iid_shift)
        data = data.replace(b'"id":%d' % entity_id, b'"id":%d' % (entity_id + self.id_shift), 1)
        data = data.replace(b'"iid":' + old, b'"iid":' + new, 1)
        for before, after in ((b"issues/", b'"'), (b"issues/", b"/"), (b"merge_requests/", b'"')):
            data = data.replace(before + old + after, before + new + after)
        for mark in (b"#", b"!"):
            data = data.replace(mark + old + b'"', mark + new + b'"')
        return data

    def items(self, data: bytes, iid: int) -> bytes:
        """Renumber threads or events; `iid` is the stored one."""
        new = b'"noteable_iid":%d' % (iid + self.iid_shift)
        data = data.replace(b'"noteable_iid":%d' % iid, new)
        return _NUMBERED.sub(self._shifted, data)

    def _shifted(self, match: re.Match[bytes]) -> bytes:
        name, value, item, following, thread = match.groups()
        if name is not None:
            return b'"%b":%d' % (name, int(value) + self.id_shift)
        if item is not None:
            return b'{"id":%d,"%b":' % (int(item) + self.id_shift, following)
        return b'{"id":"%08x%b","individual_note"' % (self.number, thread[8:])
