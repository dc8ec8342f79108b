-- Documents, the lexical index, and vectors. What is mirrored already becomes documents by following the change feed.

CREATE TABLE feed_followers (
  name TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE documents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_type TEXT NOT NULL CHECK (source_type IN ('issue', 'merge_request', 'discussion')),
  source_id INTEGER NOT NULL,
  project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
  entity_document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
  author_username TEXT,
  label_names TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  url TEXT,
  title TEXT NOT NULL,
  content_hash BLOB NOT NULL,
  labels_hash BLOB NOT NULL,
  paths_hash BLOB NOT NULL,
  index_hash BLOB NOT NULL,
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

CREATE TABLE document_texts (
  document_id INTEGER PRIMARY KEY REFERENCES documents(id) ON DELETE CASCADE,
  content_text TEXT NOT NULL,
  body_start INTEGER NOT NULL
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

CREATE TABLE dirty_sources (
  entity_type TEXT NOT NULL CHECK (entity_type IN ('issue', 'merge_request')),
  entity_id INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  next_attempt_at INTEGER NOT NULL,
  PRIMARY KEY (entity_type, entity_id)
) WITHOUT ROWID;

CREATE TABLE passages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  document_id INTEGER NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  note_id INTEGER,
  text_start INTEGER NOT NULL,
  text_end INTEGER NOT NULL,
  text_hash BLOB NOT NULL
);
CREATE INDEX idx_passages_document ON passages(document_id, position);

CREATE VIRTUAL TABLE entities_fts USING fts5(
  title, body, talk, names, content='', contentless_delete=1, tokenize='porter unicode61'
);

CREATE VIRTUAL TABLE threads_fts USING fts5(
  body, names, content='', contentless_delete=1, tokenize='porter unicode61'
);

CREATE TABLE common_words (
  table_name TEXT NOT NULL,
  word TEXT NOT NULL,
  documents INTEGER NOT NULL,
  PRIMARY KEY (table_name, word)
) WITHOUT ROWID;

CREATE TABLE common_words_state (
  table_name TEXT PRIMARY KEY,
  documents INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE spaces (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  dimensions INTEGER NOT NULL,
  is_active INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  matrix_generation INTEGER NOT NULL DEFAULT 0,
  matrix_vector_id INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX uq_spaces_active ON spaces(is_active) WHERE is_active = 1;

CREATE TABLE vectors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  passage_id INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
  text_hash BLOB NOT NULL,
  scale REAL NOT NULL,
  components BLOB NOT NULL
);
CREATE UNIQUE INDEX uq_vectors_passage ON vectors(passage_id, space_id);
CREATE INDEX idx_vectors_text ON vectors(space_id, text_hash);

CREATE TABLE removed_vectors (
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  vector_id INTEGER NOT NULL,
  PRIMARY KEY (space_id, vector_id)
) WITHOUT ROWID;

CREATE TRIGGER vectors_removed AFTER DELETE ON vectors
WHEN old.id <= (SELECT matrix_vector_id FROM spaces WHERE id = old.space_id) BEGIN
  INSERT OR IGNORE INTO removed_vectors (space_id, vector_id) VALUES (old.space_id, old.id);
END;

CREATE TABLE pending_embeddings (
  space_id INTEGER NOT NULL REFERENCES spaces(id) ON DELETE CASCADE,
  passage_id INTEGER NOT NULL REFERENCES passages(id) ON DELETE CASCADE,
  written_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  next_attempt_at INTEGER,
  PRIMARY KEY (space_id, passage_id)
) WITHOUT ROWID;
CREATE INDEX idx_pending_embeddings_order ON pending_embeddings(space_id, attempts, written_at DESC);
CREATE INDEX idx_pending_embeddings_passage ON pending_embeddings(passage_id);
