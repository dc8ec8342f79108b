-- The mirror's tables. A fresh database is made from this file; an older one comes here by migrations/.
-- Times are ms since the epoch, UTC. Booleans are 0 or 1. "local" ids are ours, gitlab_* ids are GitLab's.

-- ── Where things come from ──────────────────────────────────────────────────────────────────────────

CREATE TABLE instances (
  id INTEGER PRIMARY KEY,
  base_url TEXT NOT NULL UNIQUE,               -- identity; the configuration may rename an instance
  keyset_issues INTEGER,                       -- whether its issue lists take keyset pagination; NULL unknown
  web_origins TEXT NOT NULL DEFAULT ''         -- 'https://host …': below which its pages are known, beside base_url
);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  instance_id INTEGER NOT NULL REFERENCES instances(id),
  gitlab_project_id INTEGER NOT NULL,
  path_with_namespace TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  default_branch TEXT,
  web_url TEXT,
  visibility TEXT,
  archived INTEGER NOT NULL,
  issues_enabled INTEGER NOT NULL,
  merge_requests_enabled INTEGER NOT NULL,
  created_at INTEGER,
  updated_at INTEGER,                          -- GitLab's last_activity_at
  catalog_fetched_at INTEGER,                  -- when labels, milestones and members were last listed
  issues_swept_at INTEGER,                     -- this and the next: the sweep of each kind is up to date to then
  merge_requests_swept_at INTEGER,
  raw_payload_id INTEGER,
  UNIQUE (instance_id, gitlab_project_id)
);
CREATE INDEX idx_projects_path ON projects(path_with_namespace);

-- Every path a project has had: texts and URLs go on using the old ones.
CREATE TABLE project_paths (
  instance_id INTEGER NOT NULL REFERENCES instances(id),
  path TEXT NOT NULL COLLATE NOCASE,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  PRIMARY KEY (instance_id, path)
) WITHOUT ROWID;
CREATE INDEX idx_project_paths_project ON project_paths(project_id);

CREATE TABLE users (
  id INTEGER PRIMARY KEY,
  instance_id INTEGER NOT NULL REFERENCES instances(id),
  gitlab_id INTEGER NOT NULL,
  username TEXT NOT NULL,
  name TEXT NOT NULL,
  state TEXT,
  web_url TEXT,
  bot INTEGER,
  UNIQUE (instance_id, gitlab_id)
);
CREATE INDEX idx_users_username ON users(username);

-- ── Raw payloads: what GitLab said, word for word, so that decoding can be done again offline ──────────

CREATE TABLE raw_bodies (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,                   -- BLAKE2b-128 of the uncompressed bytes
  size INTEGER NOT NULL,
  codec INTEGER NOT NULL,                      -- see store/payloads.py
  body BLOB NOT NULL
);

-- The latest answer for each thing; equal bodies are stored once. The raw_payload_id of other tables points
-- here, without a foreign key: deleting one payload would scan every note.
CREATE TABLE raw_payloads (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL DEFAULT 'gitlab',
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,                 -- 'project', 'issue', 'merge_request', 'issue_discussions', …
  gitlab_id INTEGER NOT NULL,                  -- of the entity it tells of (of the project for its own lists)
  page INTEGER NOT NULL,                       -- a list may take several answers
  fetched_at INTEGER NOT NULL,
  body_id INTEGER NOT NULL REFERENCES raw_bodies(id)
);
CREATE UNIQUE INDEX idx_raw_payloads_lookup ON raw_payloads(project_id, resource_type, gitlab_id, page);
CREATE INDEX idx_raw_payloads_body ON raw_payloads(body_id);

-- ── Entities ────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE milestones (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  iid INTEGER,
  group_id INTEGER,                            -- set for a milestone of a group above the project
  title TEXT NOT NULL,
  description TEXT,
  state TEXT,
  created_at INTEGER,
  updated_at INTEGER,
  start_date TEXT,
  due_date TEXT,
  web_url TEXT,
  UNIQUE (project_id, gitlab_id)
);
CREATE INDEX idx_milestones_title ON milestones(title);

CREATE TABLE labels (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER,                           -- NULL while only the name is known
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  color TEXT,
  description TEXT
);
CREATE UNIQUE INDEX uq_labels_project_name ON labels(project_id, name);
CREATE INDEX idx_labels_name ON labels(name);

CREATE TABLE issues (
  id INTEGER PRIMARY KEY AUTOINCREMENT,        -- never used twice: a fetch under way must not meet a newcomer
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  iid INTEGER NOT NULL,
  title TEXT NOT NULL,
  description TEXT,
  state TEXT NOT NULL,
  author_gitlab_id INTEGER,
  author_username TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  closed_at INTEGER,
  closed_by TEXT,
  web_url TEXT,
  milestone_id INTEGER REFERENCES milestones(id) ON DELETE SET NULL,
  milestone_title TEXT,
  user_notes_count INTEGER NOT NULL,
  upvotes INTEGER NOT NULL,
  downvotes INTEGER NOT NULL,
  discussion_locked INTEGER NOT NULL,
  confidential INTEGER NOT NULL,
  issue_type TEXT,
  severity TEXT,
  weight INTEGER,
  due_date TEXT,
  moved_to_id INTEGER,                         -- GitLab's global id of the issue it became elsewhere
  raw_payload_id INTEGER,
  activity_key BLOB NOT NULL,                  -- hash of the fields that move when threads or events may have
  discussions_fetched_at INTEGER,              -- GitLab's clock; NULL: not yet, or wanted again
  swept_at INTEGER NOT NULL,                   -- when GitLab last showed it in a list
  UNIQUE (project_id, gitlab_id),
  UNIQUE (project_id, iid)
);
CREATE INDEX idx_issues_project_updated ON issues(project_id, updated_at);
CREATE INDEX idx_issues_updated ON issues(updated_at);
CREATE INDEX idx_issues_author ON issues(author_username);
CREATE INDEX idx_issues_gitlab_id ON issues(gitlab_id);
CREATE INDEX idx_issues_milestone ON issues(milestone_id) WHERE milestone_id IS NOT NULL;
CREATE INDEX idx_issues_swept ON issues(project_id, swept_at);
-- Threads read while a note could still be saved unseen (GitLab moves updated_at once a minute at most).
CREATE INDEX idx_issues_unsettled ON issues(project_id) WHERE discussions_fetched_at < updated_at + 65000;

CREATE TABLE merge_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  iid INTEGER NOT NULL,
  title TEXT NOT NULL,
  description TEXT,
  state TEXT NOT NULL,
  author_gitlab_id INTEGER,
  author_username TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  closed_at INTEGER,
  closed_by TEXT,
  web_url TEXT,
  milestone_id INTEGER REFERENCES milestones(id) ON DELETE SET NULL,
  milestone_title TEXT,
  user_notes_count INTEGER NOT NULL,
  upvotes INTEGER NOT NULL,
  downvotes INTEGER NOT NULL,
  discussion_locked INTEGER NOT NULL,
  draft INTEGER NOT NULL,
  source_branch TEXT NOT NULL,
  target_branch TEXT NOT NULL,
  source_project_id INTEGER,                   -- GitLab's id; differs from the project's for a fork
  merged_at INTEGER,
  merged_by TEXT,
  squash INTEGER NOT NULL,
  head_sha TEXT,
  merge_commit_sha TEXT,
  squash_commit_sha TEXT,
  diff_base_sha TEXT,                          -- this and the next three are told by the single GET only
  diff_start_sha TEXT,
  diff_head_sha TEXT,
  changes_count TEXT,                          -- GitLab's text: it says '1000+' at times
  raw_payload_id INTEGER,
  activity_key BLOB NOT NULL,
  code_key BLOB NOT NULL,                      -- hash of the fields that move when commits, diffs or closed issues may have
  discussions_fetched_at INTEGER,
  swept_at INTEGER NOT NULL,
  UNIQUE (project_id, gitlab_id),
  UNIQUE (project_id, iid)
);
CREATE INDEX idx_mrs_project_updated ON merge_requests(project_id, updated_at);
CREATE INDEX idx_mrs_updated ON merge_requests(updated_at);
CREATE INDEX idx_mrs_author ON merge_requests(author_username);
CREATE INDEX idx_mrs_gitlab_id ON merge_requests(gitlab_id);
CREATE INDEX idx_mrs_milestone ON merge_requests(milestone_id) WHERE milestone_id IS NOT NULL;
CREATE INDEX idx_mrs_swept ON merge_requests(project_id, swept_at);
CREATE INDEX idx_mrs_merge_commit ON merge_requests(merge_commit_sha) WHERE merge_commit_sha IS NOT NULL;
CREATE INDEX idx_mrs_squash_commit ON merge_requests(squash_commit_sha) WHERE squash_commit_sha IS NOT NULL;
CREATE INDEX idx_mrs_unsettled ON merge_requests(project_id) WHERE discussions_fetched_at < updated_at + 65000;

CREATE TABLE issue_labels (
  issue_id INTEGER NOT NULL REFERENCES issues(id) ON DELETE CASCADE,
  label_id INTEGER NOT NULL REFERENCES labels(id) ON DELETE CASCADE,
  PRIMARY KEY (issue_id, label_id)
) WITHOUT ROWID;
CREATE INDEX idx_issue_labels_label ON issue_labels(label_id);

CREATE TABLE mr_labels (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  label_id INTEGER NOT NULL REFERENCES labels(id) ON DELETE CASCADE,
  PRIMARY KEY (merge_request_id, label_id)
) WITHOUT ROWID;
CREATE INDEX idx_mr_labels_label ON mr_labels(label_id);

-- Key columns stand first in tables without rowid: SQLite up to 3.40, which many machines have, misreads the others
-- in `PRAGMA integrity_check` and reports NULLs where there are none.
CREATE TABLE issue_assignees (
  issue_id INTEGER NOT NULL REFERENCES issues(id) ON DELETE CASCADE,
  gitlab_user_id INTEGER NOT NULL,
  username TEXT NOT NULL,
  PRIMARY KEY (issue_id, gitlab_user_id)
) WITHOUT ROWID;
CREATE INDEX idx_issue_assignees_username ON issue_assignees(username);

CREATE TABLE mr_assignees (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  gitlab_user_id INTEGER NOT NULL,
  username TEXT NOT NULL,
  PRIMARY KEY (merge_request_id, gitlab_user_id)
) WITHOUT ROWID;
CREATE INDEX idx_mr_assignees_username ON mr_assignees(username);

CREATE TABLE mr_reviewers (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  gitlab_user_id INTEGER NOT NULL,
  username TEXT NOT NULL,
  PRIMARY KEY (merge_request_id, gitlab_user_id)
) WITHOUT ROWID;
CREATE INDEX idx_mr_reviewers_username ON mr_reviewers(username);

-- ── Threads ─────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE discussions (
  id INTEGER PRIMARY KEY,
  gitlab_discussion_id TEXT NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  noteable_type TEXT NOT NULL,                 -- 'Issue' | 'MergeRequest'
  individual_note INTEGER NOT NULL,
  position INTEGER NOT NULL,                   -- GitLab's order within the entity, from 0
  first_note_at INTEGER NOT NULL,
  last_note_at INTEGER NOT NULL,
  resolvable INTEGER NOT NULL,
  resolved INTEGER NOT NULL,
  content_hash BLOB NOT NULL,                  -- of its JSON: an unchanged thread is not written again
  CHECK (
    (noteable_type = 'Issue' AND issue_id IS NOT NULL AND merge_request_id IS NULL)
    OR (noteable_type = 'MergeRequest' AND merge_request_id IS NOT NULL AND issue_id IS NULL)
  )
);
-- GitLab's ids are hashes: an index that begins with the entity is written page by page, not all over.
CREATE UNIQUE INDEX idx_discussions_issue ON discussions(issue_id, gitlab_discussion_id)
  WHERE issue_id IS NOT NULL;
CREATE UNIQUE INDEX idx_discussions_mr ON discussions(merge_request_id, gitlab_discussion_id)
  WHERE merge_request_id IS NOT NULL;
CREATE INDEX idx_discussions_last_note ON discussions(last_note_at);

CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  discussion_id INTEGER NOT NULL REFERENCES discussions(id) ON DELETE CASCADE,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  type TEXT,                                   -- 'DiscussionNote' | 'DiffNote' | NULL
  author_gitlab_id INTEGER,
  author_username TEXT,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  position INTEGER NOT NULL,                   -- order within the thread, from 0
  is_system INTEGER NOT NULL,                  -- GitLab wrote it; no comment
  internal INTEGER NOT NULL,                   -- for project members only
  resolvable INTEGER NOT NULL,
  resolved INTEGER NOT NULL,
  resolved_by TEXT,
  resolved_at INTEGER,
  commit_id TEXT,
  raw_payload_id INTEGER
);
CREATE UNIQUE INDEX uq_notes_gitlab ON notes(project_id, gitlab_id);
CREATE INDEX idx_notes_discussion ON notes(discussion_id);
CREATE INDEX idx_notes_author ON notes(author_username);
CREATE INDEX idx_notes_type ON notes(type) WHERE type IS NOT NULL;

-- Where in a diff a DiffNote stands.
CREATE TABLE note_positions (
  note_id INTEGER PRIMARY KEY REFERENCES notes(id) ON DELETE CASCADE,
  position_type TEXT NOT NULL,                 -- 'text' | 'image' | 'file'
  base_sha TEXT,
  start_sha TEXT,
  head_sha TEXT,
  old_path TEXT,
  new_path TEXT,
  old_line INTEGER,
  new_line INTEGER,
  start_old_line INTEGER,                      -- where a note on several lines begins
  start_new_line INTEGER
);
CREATE INDEX idx_note_positions_new_path ON note_positions(new_path);
CREATE INDEX idx_note_positions_old_path ON note_positions(old_path) WHERE old_path <> new_path;

-- ── Events ──────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE resource_state_events (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  state TEXT NOT NULL,                         -- 'opened' | 'closed' | 'reopened' | 'merged' | 'locked'
  actor_gitlab_id INTEGER,
  actor_username TEXT,
  created_at INTEGER NOT NULL,
  source_merge_request_id INTEGER,             -- GitLab's GLOBAL id of the causing merge request
  source_commit TEXT,
  UNIQUE (gitlab_id, project_id),
  CHECK ((issue_id IS NULL) <> (merge_request_id IS NULL))
);
CREATE INDEX idx_state_events_issue ON resource_state_events(issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX idx_state_events_mr ON resource_state_events(merge_request_id) WHERE merge_request_id IS NOT NULL;
CREATE INDEX idx_state_events_created ON resource_state_events(created_at);
CREATE INDEX idx_state_events_source ON resource_state_events(source_merge_request_id)
  WHERE source_merge_request_id IS NOT NULL;

CREATE TABLE resource_label_events (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  label_name TEXT,                             -- NULL: the label has been deleted since
  action TEXT NOT NULL CHECK (action IN ('add', 'remove')),
  actor_gitlab_id INTEGER,
  actor_username TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (gitlab_id, project_id),
  CHECK ((issue_id IS NULL) <> (merge_request_id IS NULL))
);
CREATE INDEX idx_label_events_issue ON resource_label_events(issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX idx_label_events_mr ON resource_label_events(merge_request_id) WHERE merge_request_id IS NOT NULL;
CREATE INDEX idx_label_events_created ON resource_label_events(created_at);
CREATE INDEX idx_label_events_label ON resource_label_events(label_name);

CREATE TABLE resource_milestone_events (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  milestone_title TEXT,                        -- NULL: the milestone has been deleted since
  milestone_id INTEGER,                        -- GitLab's
  action TEXT NOT NULL CHECK (action IN ('add', 'remove')),
  actor_gitlab_id INTEGER,
  actor_username TEXT,
  created_at INTEGER NOT NULL,
  UNIQUE (gitlab_id, project_id),
  CHECK ((issue_id IS NULL) <> (merge_request_id IS NULL))
);
CREATE INDEX idx_milestone_events_issue ON resource_milestone_events(issue_id) WHERE issue_id IS NOT NULL;
CREATE INDEX idx_milestone_events_mr ON resource_milestone_events(merge_request_id)
  WHERE merge_request_id IS NOT NULL;
CREATE INDEX idx_milestone_events_created ON resource_milestone_events(created_at);

-- ── Code ────────────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE mr_file_changes (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,                   -- GitLab's order; a type change lists one path twice
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  old_path TEXT,                               -- NULL for a new file
  new_path TEXT NOT NULL,
  change_type TEXT NOT NULL CHECK (change_type IN ('added', 'modified', 'deleted', 'renamed')),
  a_mode TEXT,
  b_mode TEXT,
  added_lines INTEGER,                         -- NULL where GitLab withheld the text
  removed_lines INTEGER,
  too_large INTEGER NOT NULL,
  generated INTEGER NOT NULL,
  PRIMARY KEY (merge_request_id, position)
) WITHOUT ROWID;
CREATE INDEX idx_mr_files_new_path ON mr_file_changes(new_path);
CREATE INDEX idx_mr_files_old_path ON mr_file_changes(old_path) WHERE old_path <> new_path;

CREATE TABLE mr_commits (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,                   -- GitLab's order, newest first
  sha TEXT NOT NULL,
  title TEXT NOT NULL,
  message TEXT,
  author_name TEXT,
  author_email TEXT,
  authored_at INTEGER,
  committed_at INTEGER,
  parents TEXT NOT NULL,                       -- SHAs, space-separated
  PRIMARY KEY (merge_request_id, position)
) WITHOUT ROWID;
CREATE INDEX idx_mr_commits_sha ON mr_commits(sha);

-- ── References: a directed edge between two entities, once, however many sources show it ──────────────
--
-- The source does what reference_type says to the target: the merge request `closes` the issue, the
-- entity whose text names another has it `mentioned`. An end that is not mirrored has no id but a path and
-- a number; at least one end is always local. When the missing end arrives, its id is filled in.

CREATE TABLE entity_references (
  id INTEGER PRIMARY KEY,
  instance_id INTEGER NOT NULL REFERENCES instances(id),
  source_entity_type TEXT NOT NULL CHECK (source_entity_type IN ('issue', 'merge_request')),
  source_entity_id INTEGER,
  source_project_path TEXT COLLATE NOCASE,     -- this and the next: only while source_entity_id is NULL
  source_entity_iid INTEGER,
  target_entity_type TEXT NOT NULL CHECK (target_entity_type IN ('issue', 'merge_request')),
  target_entity_id INTEGER,
  target_project_path TEXT COLLATE NOCASE,     -- this and the next: only while target_entity_id is NULL
  target_entity_iid INTEGER,
  external_key TEXT,                           -- target in another tracker: 'JIRA-1'
  reference_type TEXT NOT NULL CHECK (reference_type IN ('closes', 'mentioned', 'related')),
  created_at INTEGER,                          -- when first seen in GitLab, if known
  CHECK (source_entity_id IS NOT NULL OR target_entity_id IS NOT NULL)
);
CREATE UNIQUE INDEX uq_entity_references ON entity_references(
  source_entity_type, COALESCE(source_entity_id, -1), lower(COALESCE(source_project_path, '')),
  COALESCE(source_entity_iid, -1),
  target_entity_type, COALESCE(target_entity_id, -1), lower(COALESCE(target_project_path, '')),
  COALESCE(target_entity_iid, -1), COALESCE(external_key, ''),
  reference_type, instance_id
);
CREATE INDEX idx_refs_source ON entity_references(source_entity_type, source_entity_id)
  WHERE source_entity_id IS NOT NULL;
CREATE INDEX idx_refs_target ON entity_references(target_entity_type, target_entity_id)
  WHERE target_entity_id IS NOT NULL;
CREATE INDEX idx_refs_unresolved ON entity_references(target_project_path, target_entity_iid)
  WHERE target_entity_id IS NULL;
CREATE INDEX idx_refs_unresolved_source ON entity_references(source_project_path, source_entity_iid)
  WHERE source_entity_id IS NULL;

-- What shows a reference. A reference lives as long as it has a source.
CREATE TABLE reference_sources (
  observer_type TEXT NOT NULL CHECK (observer_type IN ('issue', 'merge_request')),
  observer_id INTEGER NOT NULL,                -- the local entity whose data shows it
  source_method TEXT NOT NULL CHECK (source_method IN (
    'api_closes_issues', 'api_state_event', 'system_note_parse', 'description_parse', 'note_parse')),
  origin_id INTEGER NOT NULL,                  -- GitLab's id of the note or event, 0 for the others
  reference_id INTEGER NOT NULL REFERENCES entity_references(id) ON DELETE CASCADE,
  relation TEXT NOT NULL,                      -- finer than the type: 'duplicate_of', 'moved_to', …
  seen_at INTEGER,                             -- when the note or event was made
  PRIMARY KEY (observer_type, observer_id, source_method, origin_id, reference_id)
) WITHOUT ROWID;
CREATE INDEX idx_reference_sources_reference ON reference_sources(reference_id);

-- ── Keeping up ──────────────────────────────────────────────────────────────────────────────────────

CREATE TABLE sync_cursors (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,                 -- 'issues' | 'merge_requests'
  updated_at_cursor INTEGER,                   -- the last committed entity's updated_at
  tie_breaker_id INTEGER,                      -- its gitlab_id
  PRIMARY KEY (project_id, resource_type)
) WITHOUT ROWID;

-- The one queue of what is still to be fetched for an entity.
CREATE TABLE pending_dependent_fetches (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  entity_iid INTEGER NOT NULL,
  entity_local_id INTEGER NOT NULL,
  job_type TEXT NOT NULL CHECK (job_type IN (
    'discussions', 'resource_events', 'mr_closes_issues', 'mr_diffs', 'mr_commits', 'mr_details')),
  enqueued_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  next_attempt_at INTEGER,                     -- NULL: ready now
  locked_at INTEGER,                           -- claimed; an old claim is taken back after a crash
  UNIQUE (project_id, entity_type, entity_local_id, job_type)
);
CREATE INDEX idx_pending_ready ON pending_dependent_fetches(attempts, id) WHERE locked_at IS NULL;

-- What GitLab no longer shows: deleted, moved out of sight, or forbidden.
CREATE TABLE tombstones (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  gitlab_id INTEGER NOT NULL,
  iid INTEGER NOT NULL,
  noticed_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, entity_type, gitlab_id)
) WITHOUT ROWID;

-- The change feed: the latest change of each entity (its threads included), in order.
CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  entity_id INTEGER NOT NULL,                  -- local id
  operation TEXT NOT NULL CHECK (operation IN ('upsert', 'delete')),
  UNIQUE (entity_type, entity_id)
);

CREATE TABLE sync_runs (
  id INTEGER PRIMARY KEY,
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  status TEXT NOT NULL CHECK (status IN ('running', 'succeeded', 'partial', 'failed', 'interrupted')),
  command TEXT NOT NULL,
  error TEXT,
  requests INTEGER NOT NULL DEFAULT 0,
  bytes_received INTEGER NOT NULL DEFAULT 0,
  retries INTEGER NOT NULL DEFAULT 0,
  rate_limited INTEGER NOT NULL DEFAULT 0,
  rows_json TEXT NOT NULL DEFAULT '{}'         -- rows written, by kind
);

CREATE TABLE sync_failures (
  run_id INTEGER NOT NULL REFERENCES sync_runs(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  project_path TEXT NOT NULL,
  subject TEXT NOT NULL,                       -- 'issues', '!12 discussions', …
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

-- One sync at a time: whoever holds the row writes.
CREATE TABLE sync_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  owner TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL
);

-- ── Documents: what is searched, made from the above by following the change feed ───────────────────

-- How far each follower of the change feed has come.
CREATE TABLE feed_followers (
  name TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL                    -- of the last change it has taken in
) WITHOUT ROWID;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,        -- never used twice: indexes outside of this file know documents by it
  source_type TEXT NOT NULL CHECK (source_type IN ('issue', 'merge_request', 'discussion')),
  source_id INTEGER NOT NULL,                  -- local id in the table of its kind
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  entity_document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
                                               -- a thread's issue or merge request; an entity's own id
  author_username TEXT,                        -- of a thread: who began it
  label_names TEXT NOT NULL,                   -- JSON, sorted
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  url TEXT,
  title TEXT NOT NULL,                         -- a thread has its entity's
  content_hash BLOB NOT NULL,
  labels_hash BLOB NOT NULL,
  paths_hash BLOB NOT NULL,
  index_hash BLOB NOT NULL,                    -- of what the lexical index holds of it
  passage_count INTEGER NOT NULL DEFAULT 0,
  is_truncated INTEGER NOT NULL,
  truncated_reason TEXT CHECK (truncated_reason IN
    ('token_limit_middle_drop', 'single_note_oversized', 'first_last_oversized') OR truncated_reason IS NULL),
  UNIQUE (source_type, source_id)
);
CREATE INDEX idx_documents_entity ON documents(entity_document_id);
CREATE INDEX idx_documents_project_updated ON documents(project_id, updated_at);
CREATE INDEX idx_documents_author ON documents(author_username);
CREATE INDEX idx_documents_created ON documents(created_at);

-- Apart from the rest, so that filters walk over small rows.
CREATE TABLE document_texts (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  content_text TEXT NOT NULL,                  -- header and text
  body_start INTEGER NOT NULL                  -- where in it the text begins, in characters
);

CREATE TABLE document_labels (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  label_name TEXT NOT NULL,
  PRIMARY KEY (document_id, label_name)
) WITHOUT ROWID;
CREATE INDEX idx_document_labels_label ON document_labels(label_name);

CREATE TABLE document_paths (
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  path TEXT NOT NULL,
  PRIMARY KEY (document_id, path)
) WITHOUT ROWID;
CREATE INDEX idx_document_paths_path ON document_paths(path);

-- What could not be made into documents, and when it is tried again.
CREATE TABLE dirty_sources (
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  entity_id INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  PRIMARY KEY (entity_type, entity_id)
) WITHOUT ROWID;

-- Slices of a document's text, the unit of vectors and snippets.
CREATE TABLE passages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,                   -- order within the document, from 0
  note_id INTEGER,                             -- GitLab's id of the note it is from; NULL: from a description
  text_start INTEGER NOT NULL,                 -- this and the next: characters of content_text
  text_end INTEGER NOT NULL,
  text_hash BLOB NOT NULL                      -- of what is embedded: the title and the slice
);
CREATE INDEX idx_passages_document ON passages(document_id, position);

-- ── The lexical index: two tables without content of their own; rowid is the document's id ───────────

-- Issues and merge requests with their whole conversation.
CREATE VIRTUAL TABLE entities_fts USING fts5(
  title, body, talk, names, content='', contentless_delete=1, tokenize='porter unicode61'
);
-- Threads by themselves.
CREATE VIRTUAL TABLE threads_fts USING fts5(
  body, names, content='', contentless_delete=1, tokenize='porter unicode61'
);
-- Words that stand in a large part of the documents.
CREATE TABLE common_words (
  table_name TEXT NOT NULL,
  word TEXT NOT NULL,
  documents INTEGER NOT NULL,
  PRIMARY KEY (table_name, word)
) WITHOUT ROWID;
CREATE TABLE common_words_state (
  table_name TEXT PRIMARY KEY,
  documents INTEGER NOT NULL                   -- how many there were when they were counted
) WITHOUT ROWID;

-- ── Vectors: the truth; the matrix files beside the database are made from them ──────────────────────

-- Vectors made by one model and one slicer.
CREATE TABLE spaces (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,                   -- 'bundled:all-MiniLM-L6-v2:384:passages-1'
  dimensions INTEGER NOT NULL,
  is_active INTEGER NOT NULL,                  -- the one that is searched; another may be under construction
  created_at INTEGER NOT NULL,
  matrix_generation INTEGER NOT NULL DEFAULT 0,
  matrix_vector_id INTEGER NOT NULL DEFAULT 0  -- the matrix holds the vectors up to this one
);
CREATE UNIQUE INDEX uq_spaces_active ON spaces(is_active) WHERE is_active = 1;

CREATE TABLE vectors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  passage_id INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
  text_hash BLOB NOT NULL,                     -- the passage's when it was embedded
  scale REAL NOT NULL,                         -- vector = scale * components
  components BLOB NOT NULL                     -- int8
);
CREATE UNIQUE INDEX uq_vectors_passage ON vectors(passage_id, space_id);
CREATE INDEX idx_vectors_text ON vectors(space_id, text_hash);

-- Vectors that went after the matrix was made.
CREATE TABLE removed_vectors (
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  vector_id INTEGER NOT NULL,
  PRIMARY KEY (space_id, vector_id)
) WITHOUT ROWID;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors
WHEN old.id <= (SELECT matrix_vector_id FROM spaces WHERE id = old.space_id) BEGIN
  INSERT OR IGNORE INTO removed_vectors (space_id, vector_id) VALUES (old.space_id, old.id);
END;

-- Passages that wait for their vector, newest text first.
CREATE TABLE pending_embeddings (
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  passage_id INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
  written_at INTEGER NOT NULL,                 -- when the text was last changed in GitLab
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  next_attempt_at INTEGER,                     -- NULL: ready now
  PRIMARY KEY (space_id, passage_id)
) WITHOUT ROWID;
CREATE INDEX idx_pending_embeddings_order ON pending_embeddings(space_id, attempts, written_at DESC);
CREATE INDEX idx_pending_embeddings_passage ON pending_embeddings(passage_id);
