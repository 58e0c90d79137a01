"""Every SQL statement, named. `tables` take no values; values are always bound."""

from typing import Final

# --- what OpenClaw creates, in its order and wording -------------------------------------------

CREATE_BASE: Final = (
    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS files (
      path TEXT PRIMARY KEY,
      source TEXT NOT NULL DEFAULT 'memory',
      hash TEXT NOT NULL,
      mtime INTEGER NOT NULL,
      size INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS chunks (
      id TEXT PRIMARY KEY,
      path TEXT NOT NULL,
      source TEXT NOT NULL DEFAULT 'memory',
      start_line INTEGER NOT NULL,
      end_line INTEGER NOT NULL,
      hash TEXT NOT NULL,
      model TEXT NOT NULL,
      text TEXT NOT NULL,
      embedding TEXT NOT NULL,
      updated_at INTEGER NOT NULL
    )""",
    """CREATE TABLE IF NOT EXISTS embedding_cache (
      provider TEXT NOT NULL,
      model TEXT NOT NULL,
      provider_key TEXT NOT NULL,
      hash TEXT NOT NULL,
      embedding TEXT NOT NULL,
      dims INTEGER,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (provider, model, provider_key, hash)
    )""",
    "CREATE INDEX IF NOT EXISTS idx_embedding_cache_updated_at ON embedding_cache(updated_at)",
)
CREATE_FTS: Final = """CREATE VIRTUAL TABLE IF NOT EXISTS chunks_fts USING fts5(
  text,
  id UNINDEXED,
  path UNINDEXED,
  source UNINDEXED,
  model UNINDEXED,
  start_line UNINDEXED,
  end_line UNINDEXED
)"""
CREATE_CHUNK_INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS idx_chunks_path ON chunks(path)",
    "CREATE INDEX IF NOT EXISTS idx_chunks_source ON chunks(source)",
)
# The one statement that cannot bind its value: `dims` is an int by its format.
CREATE_VEC: Final = """CREATE VIRTUAL TABLE IF NOT EXISTS chunks_vec USING vec0(
  id TEXT PRIMARY KEY,
  embedding FLOAT[{dims:d}]
)"""
DROP_VEC: Final = "DROP TABLE IF EXISTS chunks_vec"
ADD_SOURCE: Final = {
    "files": "ALTER TABLE files ADD COLUMN source TEXT NOT NULL DEFAULT 'memory'",
    "chunks": "ALTER TABLE chunks ADD COLUMN source TEXT NOT NULL DEFAULT 'memory'",
}
COLUMNS: Final = "SELECT name FROM pragma_table_info(:table)"
TABLE_SQL: Final = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = :name"
TABLES: Final = "SELECT name FROM sqlite_master WHERE type = 'table'"
HAS_TABLE: Final = """
    SELECT 1 FROM main.sqlite_master WHERE name = :name
    UNION ALL SELECT 1 FROM temp.sqlite_master WHERE name = :name
"""

# --- meta ---------------------------------------------------------------------------------------

GET_META: Final = "SELECT value FROM meta WHERE key = 'memory_index_meta_v1'"
SET_META: Final = """
    INSERT INTO meta (key, value) VALUES ('memory_index_meta_v1', :value)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value
"""

# --- files --------------------------------------------------------------------------------------

FILES_OF_SOURCE: Final = """
    SELECT f.path, f.hash, s.size, s.mtime_ns, s.ctime_ns, s.inode, s.stamped_at_ns
      FROM files f LEFT JOIN ocmem_files s ON s.path = f.path AND s.hash = f.hash
     WHERE f.source = :source
"""
FILES_WITHOUT_STAMPS: Final = """
    SELECT path, hash, NULL, NULL, NULL, NULL, 0 FROM files WHERE source = :source
"""
PUT_FILE: Final = """
    INSERT INTO files (path, source, hash, mtime, size)
    VALUES (:path, :source, :hash, :mtime, :size)
    ON CONFLICT (path) DO UPDATE SET source = excluded.source, hash = excluded.hash,
           mtime = excluded.mtime, size = excluded.size
"""
DELETE_FILE: Final = "DELETE FROM files WHERE path = :path AND source = :source"
COUNT_FILES: Final = "SELECT source, count(*) FROM files GROUP BY source"
COPY_FILE_ROWS: Final = """
    SELECT path, source, hash, mtime, size FROM files WHERE path = :path AND source = :source
"""

# --- chunks -------------------------------------------------------------------------------------

CHUNK_COLUMNS: Final = "id, path, source, start_line, end_line, hash, model, text"
PUT_CHUNK: Final = """
    INSERT INTO chunks (id, path, source, start_line, end_line, hash, model, text, embedding,
                        updated_at)
    VALUES (:id, :path, :source, :start_line, :end_line, :hash, :model, :text, :embedding,
            :updated_at)
    ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, model = excluded.model,
           text = excluded.text, embedding = excluded.embedding, updated_at = excluded.updated_at
"""
# The unary plus keeps SQLite off the index on `source`, which would read every chunk there is.
CHUNK_IDS_OF_FILE: Final = """
    SELECT id FROM chunks WHERE path = :path AND +source = :source ORDER BY rowid
"""
DELETE_CHUNK: Final = "DELETE FROM chunks WHERE id = :id"
DELETE_CHUNKS_OF_FILE: Final = "DELETE FROM chunks WHERE path = :path AND +source = :source"
COUNT_CHUNKS: Final = "SELECT source, count(*) FROM chunks GROUP BY source"
COUNT_CHUNKS_BY_FILE: Final = "SELECT source, path, count(*) FROM chunks GROUP BY source, path"
HAS_ORPHANS: Final = """
    SELECT EXISTS (SELECT 1 FROM chunks WHERE path NOT IN (SELECT path FROM files))
"""
DELETE_ORPHANS: Final = "DELETE FROM chunks WHERE path NOT IN (SELECT path FROM files)"
COUNT_ALL_CHUNKS: Final = "SELECT count(*) FROM chunks"
HAS_CHUNKS: Final = "SELECT EXISTS (SELECT 1 FROM chunks)"
HAS_FILES: Final = "SELECT EXISTS (SELECT 1 FROM files)"
# `ids` is a JSON array: one bound value, however many ids.
CHUNKS_BY_ID: Final = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks WHERE id IN (SELECT value FROM json_each(:ids))
"""
EMBEDDINGS_OF_MODEL: Final = """
    SELECT rowid, id, embedding FROM chunks
     WHERE rowid > :after AND model = :model AND embedding <> '[]'
       AND source IN (SELECT value FROM json_each(:sources))
  ORDER BY rowid LIMIT :limit
"""
ANY_EMBEDDING: Final = "SELECT embedding FROM chunks WHERE embedding <> '[]' LIMIT 1"
EMBEDDINGS_AMONG: Final = """
    SELECT id, embedding FROM chunks
     WHERE id IN (SELECT value FROM json_each(:ids)) AND embedding <> '[]'
"""

# --- keywords, as the reference indexes them ----------------------------------------------------

PUT_FTS: Final = """
    INSERT INTO chunks_fts (text, id, path, source, model, start_line, end_line)
    VALUES (:text, :id, :path, :source, :model, :start_line, :end_line)
"""
FTS_ROWIDS: Final = "SELECT rowid, path, id FROM chunks_fts"
DELETE_FTS: Final = "DELETE FROM chunks_fts WHERE rowid = :rowid AND path = :path"
SEARCH_FTS: Final = """
    SELECT id, bm25(chunks_fts) AS rank FROM chunks_fts
     WHERE chunks_fts MATCH :query
       AND (:model IS NULL OR model = :model)
       AND source IN (SELECT value FROM json_each(:sources))
  ORDER BY rank ASC, rowid LIMIT :limit
"""
COUNT_FTS: Final = "SELECT count(*) FROM chunks_fts_docsize"
# Twice: two programs indexed one file at the same time.
FTS_SURPLUS: Final = """
    SELECT rowid, path FROM chunks_fts
     WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.id = chunks_fts.id)
        OR rowid NOT IN (SELECT min(rowid) FROM chunks_fts GROUP BY id)
"""
FTS_MISSING: Final = f"""
    SELECT {CHUNK_COLUMNS} FROM chunks WHERE id NOT IN (SELECT id FROM chunks_fts)
"""

# --- vectors ------------------------------------------------------------------------------------

PUT_VEC: Final = "INSERT INTO chunks_vec (id, embedding) VALUES (:id, :embedding)"
DELETE_VEC: Final = "DELETE FROM chunks_vec WHERE id = :id"
COUNT_VEC: Final = "SELECT count(*) FROM chunks_vec_rowids"
VEC_GONE: Final = """
    SELECT id FROM chunks_vec_rowids v
     WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.id = v.id)
"""
VEC_MISSING: Final = """
    SELECT id, embedding FROM chunks c
     WHERE NOT EXISTS (SELECT 1 FROM chunks_vec_rowids v WHERE v.id = c.id)
       AND embedding <> '[]'
"""
# The KNN stands in a CTE of its own, or SQLite may run it once per joined row. A vector whose
# chunk is gone has no place. The vectors are read apart: through vec0, each is a millisecond.
KNN: Final = """
    WITH nearest AS MATERIALIZED (
        SELECT id, distance FROM chunks_vec WHERE embedding MATCH :query AND k = :k
    )
    SELECT n.id, n.distance, c.rowid FROM nearest n LEFT JOIN chunks c ON c.id = n.id
"""
KNN_AMONG: Final = """
    WITH nearest AS MATERIALIZED (
        SELECT id, distance FROM chunks_vec
         WHERE embedding MATCH :query AND k = :k
           AND id IN (SELECT id FROM ocmem_docs
                       WHERE model = :model AND source IN (SELECT value FROM json_each(:sources)))
    )
    SELECT n.id, n.distance, c.rowid FROM nearest n LEFT JOIN chunks c ON c.id = n.id
"""
SCAN_VEC: Final = """
    SELECT c.id, coalesce(vec_distance_cosine(v.embedding, :query), 1.0) AS distance
      FROM chunks_vec v JOIN chunks c ON c.id = v.id
     WHERE c.model = :model AND c.source IN (SELECT value FROM json_each(:sources))
  ORDER BY distance ASC, c.rowid LIMIT :limit
"""
PROBE_VEC: Final = "SELECT id FROM chunks_vec WHERE embedding MATCH :query AND k = 1"
COSINE_DISTANCE: Final = "SELECT coalesce(vec_distance_cosine(:stored, :query), 1.0)"
VEC_PLACES: Final = """
    SELECT v.id, v.chunk_id, v.chunk_offset
      FROM json_each(:ids) i JOIN chunks_vec_rowids v ON v.id = i.value
"""

# --- embedding cache ----------------------------------------------------------------------------

GET_CACHED: Final = """
    SELECT hash, embedding FROM embedding_cache
     WHERE provider = :provider AND model = :model AND provider_key = :provider_key
       AND hash IN (SELECT value FROM json_each(:hashes)) AND embedding <> '[]'
"""
CACHED_SIZES: Final = """
    SELECT hash, dims FROM embedding_cache
     WHERE provider = :provider AND model = :model AND provider_key = :provider_key
       AND hash IN (SELECT value FROM json_each(:hashes)) AND embedding <> '[]'
"""
PUT_CACHED: Final = """
    INSERT INTO embedding_cache (provider, model, provider_key, hash, embedding, dims, updated_at)
    VALUES (:provider, :model, :provider_key, :hash, :embedding, :dims, :updated_at)
    ON CONFLICT (provider, model, provider_key, hash) DO UPDATE SET
           embedding = excluded.embedding, dims = excluded.dims, updated_at = excluded.updated_at
"""
COPY_CACHE: Final = """
    INSERT OR IGNORE INTO embedding_cache
    SELECT provider, model, provider_key, hash, embedding, dims, updated_at FROM old.embedding_cache
     WHERE rowid > :after
"""
BORROW_CACHE: Final = """
    INSERT OR IGNORE INTO embedding_cache
    SELECT provider, model, provider_key, hash, embedding, dims, updated_at FROM old.embedding_cache
     WHERE provider = :provider AND model = :model AND provider_key = :provider_key
"""
LAST_CACHED: Final = "SELECT coalesce(max(rowid), 0) FROM old.embedding_cache"
COUNT_CACHED: Final = "SELECT count(*) FROM embedding_cache"
PRUNE_CACHE: Final = """
    DELETE FROM embedding_cache WHERE rowid IN (
        SELECT rowid FROM embedding_cache ORDER BY updated_at ASC, rowid ASC LIMIT :surplus
    )
"""

# --- what only ocmem uses, derived from the tables above ----------------------------------------

CREATE_STAMPS: Final = """CREATE TABLE IF NOT EXISTS ocmem_files (
      path TEXT PRIMARY KEY,
      hash TEXT NOT NULL,
      size INTEGER NOT NULL,
      mtime_ns INTEGER NOT NULL,
      ctime_ns INTEGER NOT NULL,
      inode INTEGER NOT NULL,
      stamped_at_ns INTEGER NOT NULL
    )"""
PUT_STAMP: Final = """
    INSERT OR REPLACE INTO ocmem_files
           (path, hash, size, mtime_ns, ctime_ns, inode, stamped_at_ns)
    VALUES (:path, :hash, :size, :mtime_ns, :ctime_ns, :inode, :stamped_at_ns)
"""
CREATE_STATE: Final = """CREATE TABLE IF NOT EXISTS ocmem_state (
      key TEXT PRIMARY KEY,
      value TEXT NOT NULL
    )"""
GET_STATE: Final = "SELECT value FROM ocmem_state WHERE key = :key"
SET_STATE: Final = "INSERT OR REPLACE INTO ocmem_state (key, value) VALUES (:key, :value)"
DELETE_STAMP: Final = "DELETE FROM ocmem_files WHERE path = :path"

# `unit_length` is 1 when the stored vector has length one, NULL when there is none to measure yet.
CREATE_DOCS: Final = """CREATE {temp} TABLE IF NOT EXISTS ocmem_docs (
      rowid INTEGER PRIMARY KEY,
      id TEXT UNIQUE NOT NULL,
      model TEXT NOT NULL,
      source TEXT NOT NULL,
      unit_length INTEGER
    )"""
CREATE_OWN_FTS: Final = """CREATE VIRTUAL TABLE IF NOT EXISTS {schema}.ocmem_fts USING fts5(
      text, content='', contentless_delete=1, tokenize='porter unicode61'
    )"""
DOCS_GONE: Final = """
    SELECT rowid FROM ocmem_docs d WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.id = d.id)
"""
DOCS_MISSING: Final = """
    SELECT id FROM chunks c WHERE NOT EXISTS (SELECT 1 FROM ocmem_docs d WHERE d.id = c.id)
"""
DELETE_DOC: Final = "DELETE FROM ocmem_docs WHERE rowid = :rowid"
DELETE_OWN_FTS: Final = "DELETE FROM ocmem_fts WHERE rowid = :rowid"
PUT_DOC: Final = """
    INSERT INTO ocmem_docs (id, model, source, unit_length)
    VALUES (:id, :model, :source, :unit_length)
"""
PUT_OWN_FTS: Final = "INSERT INTO ocmem_fts (rowid, text) VALUES (:rowid, :text)"
UNKNOWN_LENGTHS: Final = """
    SELECT rowid, id FROM ocmem_docs d
     WHERE unit_length IS NULL AND EXISTS (SELECT 1 FROM chunks_vec_rowids v WHERE v.id = d.id)
"""
FORGET_LENGTH: Final = "UPDATE ocmem_docs SET unit_length = NULL WHERE id = :id"
# Both: meanwhile another process may have given the row to another chunk.
SET_LENGTH: Final = """
    UPDATE ocmem_docs SET unit_length = :unit_length WHERE rowid = :rowid AND id = :id
"""
COUNT_DOCS: Final = """
    SELECT count(*),
           coalesce(sum(model = :model AND source IN (SELECT value FROM json_each(:sources))), 0),
           coalesce(sum(unit_length = 0 OR (unit_length IS NULL AND EXISTS (
               SELECT 1 FROM chunks_vec_rowids v WHERE v.id = d.id))), 0)
      FROM ocmem_docs d
"""
SEARCH_OWN_FTS: Final = """
    WITH found AS MATERIALIZED (
        SELECT rowid AS doc, -bm25(ocmem_fts) AS score FROM ocmem_fts WHERE ocmem_fts MATCH :query
    )
    SELECT d.id, found.score FROM found JOIN ocmem_docs d ON d.rowid = found.doc
     WHERE d.source IN (SELECT value FROM json_each(:sources))
  ORDER BY found.score DESC, d.id LIMIT :limit
"""
COUNT_OWN_MATCHES: Final = "SELECT count(*) FROM ocmem_fts WHERE ocmem_fts MATCH :query"

# --- QMD's index, which is only read ------------------------------------------------------------

QMD_COLLECTIONS: Final = "SELECT name, path, pattern FROM store_collections ORDER BY name"
QMD_COUNTS: Final = """
    SELECT collection, count(*) FROM documents WHERE active = 1 GROUP BY collection
"""
QMD_CONTENTS: Final = "SELECT count(DISTINCT hash) FROM documents WHERE active = 1"
# A document may need several vectors, and those of a killed run are not all there.
QMD_EMBEDDED: Final = """
    SELECT count(*) FROM (
        SELECT v.hash FROM content_vectors v
         WHERE v.hash IN (SELECT hash FROM documents WHERE active = 1)
      GROUP BY v.hash HAVING count(*) >= max(v.total_chunks)
    )
"""
QMD_EMBEDDED_1: Final = """
    SELECT count(DISTINCT hash) FROM content_vectors
     WHERE hash IN (SELECT hash FROM documents WHERE active = 1)
"""
QMD_BY_DOCID: Final = """
    SELECT collection, path FROM documents
     WHERE active = 1 AND (hash = :docid OR substr(hash, 1, length(:docid)) = :docid)
  ORDER BY hash = :docid DESC, id
"""
