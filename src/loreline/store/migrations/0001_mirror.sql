CREATE TABLE instances (
  id INTEGER PRIMARY KEY,
  base_url TEXT NOT NULL UNIQUE,
  keyset_issues INTEGER,
  web_origins TEXT NOT NULL DEFAULT ''
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
  updated_at INTEGER,
  catalog_fetched_at INTEGER,
  issues_swept_at INTEGER,
  merge_requests_swept_at INTEGER,
  raw_payload_id INTEGER,
  UNIQUE (instance_id, gitlab_project_id)
);
CREATE INDEX idx_projects_path ON projects(path_with_namespace);

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

CREATE TABLE raw_bodies (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  codec INTEGER NOT NULL,
  body BLOB NOT NULL
);

CREATE TABLE raw_payloads (
  id INTEGER PRIMARY KEY,
  source TEXT NOT NULL DEFAULT 'gitlab',
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,
  gitlab_id INTEGER NOT NULL,
  page INTEGER NOT NULL,
  fetched_at INTEGER NOT NULL,
  body_id INTEGER NOT NULL REFERENCES raw_bodies(id)
);
CREATE UNIQUE INDEX idx_raw_payloads_lookup ON raw_payloads(project_id, resource_type, gitlab_id, page);
CREATE INDEX idx_raw_payloads_body ON raw_payloads(body_id);

CREATE TABLE milestones (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  iid INTEGER,
  group_id INTEGER,
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
  gitlab_id INTEGER,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  color TEXT,
  description TEXT
);
CREATE UNIQUE INDEX uq_labels_project_name ON labels(project_id, name);
CREATE INDEX idx_labels_name ON labels(name);

CREATE TABLE issues (
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
  confidential INTEGER NOT NULL,
  issue_type TEXT,
  severity TEXT,
  weight INTEGER,
  due_date TEXT,
  moved_to_id INTEGER,
  raw_payload_id INTEGER,
  activity_key BLOB NOT NULL,
  discussions_fetched_at INTEGER,
  swept_at INTEGER NOT NULL,
  UNIQUE (project_id, gitlab_id),
  UNIQUE (project_id, iid)
);
CREATE INDEX idx_issues_project_updated ON issues(project_id, updated_at);
CREATE INDEX idx_issues_updated ON issues(updated_at);
CREATE INDEX idx_issues_author ON issues(author_username);
CREATE INDEX idx_issues_gitlab_id ON issues(gitlab_id);
CREATE INDEX idx_issues_milestone ON issues(milestone_id) WHERE milestone_id IS NOT NULL;
CREATE INDEX idx_issues_swept ON issues(project_id, swept_at);
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
  source_project_id INTEGER,
  merged_at INTEGER,
  merged_by TEXT,
  squash INTEGER NOT NULL,
  head_sha TEXT,
  merge_commit_sha TEXT,
  squash_commit_sha TEXT,
  diff_base_sha TEXT,
  diff_start_sha TEXT,
  diff_head_sha TEXT,
  changes_count TEXT,
  raw_payload_id INTEGER,
  activity_key BLOB NOT NULL,
  code_key BLOB NOT NULL,
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

CREATE TABLE discussions (
  id INTEGER PRIMARY KEY,
  gitlab_discussion_id TEXT NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  noteable_type TEXT NOT NULL,
  individual_note INTEGER NOT NULL,
  position INTEGER NOT NULL,
  first_note_at INTEGER NOT NULL,
  last_note_at INTEGER NOT NULL,
  resolvable INTEGER NOT NULL,
  resolved INTEGER NOT NULL,
  content_hash BLOB NOT NULL,
  CHECK (
    (noteable_type = 'Issue' AND issue_id IS NOT NULL AND merge_request_id IS NULL)
    OR (noteable_type = 'MergeRequest' AND merge_request_id IS NOT NULL AND issue_id IS NULL)
  )
);
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
  type TEXT,
  author_gitlab_id INTEGER,
  author_username TEXT,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  position INTEGER NOT NULL,
  is_system INTEGER NOT NULL,
  internal INTEGER NOT NULL,
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

CREATE TABLE note_positions (
  note_id INTEGER PRIMARY KEY REFERENCES notes(id) ON DELETE CASCADE,
  position_type TEXT NOT NULL,
  base_sha TEXT,
  start_sha TEXT,
  head_sha TEXT,
  old_path TEXT,
  new_path TEXT,
  old_line INTEGER,
  new_line INTEGER,
  start_old_line INTEGER,
  start_new_line INTEGER
);
CREATE INDEX idx_note_positions_new_path ON note_positions(new_path);
CREATE INDEX idx_note_positions_old_path ON note_positions(old_path) WHERE old_path <> new_path;

CREATE TABLE resource_state_events (
  id INTEGER PRIMARY KEY,
  gitlab_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  issue_id INTEGER REFERENCES issues(id) ON DELETE CASCADE,
  merge_request_id INTEGER REFERENCES merge_requests(id) ON DELETE CASCADE,
  state TEXT NOT NULL,
  actor_gitlab_id INTEGER,
  actor_username TEXT,
  created_at INTEGER NOT NULL,
  source_merge_request_id INTEGER,
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
  label_name TEXT,
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
  milestone_title TEXT,
  milestone_id INTEGER,
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

CREATE TABLE mr_file_changes (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  old_path TEXT,
  new_path TEXT NOT NULL,
  change_type TEXT NOT NULL CHECK (change_type IN ('added', 'modified', 'deleted', 'renamed')),
  a_mode TEXT,
  b_mode TEXT,
  added_lines INTEGER,
  removed_lines INTEGER,
  too_large INTEGER NOT NULL,
  generated INTEGER NOT NULL,
  PRIMARY KEY (merge_request_id, position)
) WITHOUT ROWID;
CREATE INDEX idx_mr_files_new_path ON mr_file_changes(new_path);
CREATE INDEX idx_mr_files_old_path ON mr_file_changes(old_path) WHERE old_path <> new_path;

CREATE TABLE mr_commits (
  merge_request_id INTEGER NOT NULL REFERENCES merge_requests(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  sha TEXT NOT NULL,
  title TEXT NOT NULL,
  message TEXT,
  author_name TEXT,
  author_email TEXT,
  authored_at INTEGER,
  committed_at INTEGER,
  parents TEXT NOT NULL,
  PRIMARY KEY (merge_request_id, position)
) WITHOUT ROWID;
CREATE INDEX idx_mr_commits_sha ON mr_commits(sha);

CREATE TABLE entity_references (
  id INTEGER PRIMARY KEY,
  instance_id INTEGER NOT NULL REFERENCES instances(id),
  source_entity_type TEXT NOT NULL CHECK (source_entity_type IN ('issue', 'merge_request')),
  source_entity_id INTEGER,
  source_project_path TEXT COLLATE NOCASE,
  source_entity_iid INTEGER,
  target_entity_type TEXT NOT NULL CHECK (target_entity_type IN ('issue', 'merge_request')),
  target_entity_id INTEGER,
  target_project_path TEXT COLLATE NOCASE,
  target_entity_iid INTEGER,
  external_key TEXT,
  reference_type TEXT NOT NULL CHECK (reference_type IN ('closes', 'mentioned', 'related')),
  created_at INTEGER,
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

CREATE TABLE reference_sources (
  observer_type TEXT NOT NULL CHECK (observer_type IN ('issue', 'merge_request')),
  observer_id INTEGER NOT NULL,
  source_method TEXT NOT NULL CHECK (source_method IN (
    'api_closes_issues', 'api_state_event', 'system_note_parse', 'description_parse', 'note_parse')),
  origin_id INTEGER NOT NULL,
  reference_id INTEGER NOT NULL REFERENCES entity_references(id) ON DELETE CASCADE,
  relation TEXT NOT NULL,
  seen_at INTEGER,
  PRIMARY KEY (observer_type, observer_id, source_method, origin_id, reference_id)
) WITHOUT ROWID;
CREATE INDEX idx_reference_sources_reference ON reference_sources(reference_id);

CREATE TABLE sync_cursors (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  resource_type TEXT NOT NULL,
  updated_at_cursor INTEGER,
  tie_breaker_id INTEGER,
  PRIMARY KEY (project_id, resource_type)
) WITHOUT ROWID;

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
  next_attempt_at INTEGER,
  locked_at INTEGER,
  UNIQUE (project_id, entity_type, entity_local_id, job_type)
);
CREATE INDEX idx_pending_ready ON pending_dependent_fetches(attempts, id) WHERE locked_at IS NULL;

CREATE TABLE tombstones (
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  gitlab_id INTEGER NOT NULL,
  iid INTEGER NOT NULL,
  noticed_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, entity_type, gitlab_id)
) WITHOUT ROWID;

CREATE TABLE changes (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  entity_id INTEGER NOT NULL,
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
  rows_json TEXT NOT NULL DEFAULT '{}'
);

CREATE TABLE sync_failures (
  run_id INTEGER NOT NULL REFERENCES sync_runs(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  project_path TEXT NOT NULL,
  subject TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (run_id, position)
) WITHOUT ROWID;

CREATE TABLE sync_lease (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  owner TEXT NOT NULL,
  run_id INTEGER NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  acquired_at INTEGER NOT NULL,
  heartbeat_at INTEGER NOT NULL
);
