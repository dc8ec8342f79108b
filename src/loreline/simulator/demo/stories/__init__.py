"""What is told, one module per story."""

from __future__ import annotations

from loreline.simulator.demo.stories.cache import STORY as CACHE
from loreline.simulator.demo.stories.daily_work import STORY as DAILY_WORK
from loreline.simulator.demo.stories.foundation import STORY as FOUNDATION
from loreline.simulator.demo.stories.handbook import STORY as HANDBOOK
from loreline.simulator.demo.stories.identity import STORY as IDENTITY
from loreline.simulator.demo.stories.late_work import STORY as LATE_WORK
from loreline.simulator.demo.stories.login import STORY as LOGIN
from loreline.simulator.demo.stories.migration import STORY as MIGRATION
from loreline.simulator.demo.stories.security import STORY as SECURITY

STORIES = (FOUNDATION, LOGIN, IDENTITY, SECURITY, CACHE, MIGRATION, DAILY_WORK, LATE_WORK, HANDBOOK)
