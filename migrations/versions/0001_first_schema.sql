-- The first schema, squashed. The models in habakkuk/db/models say what each table is for.
-- Rows that change soon after they came have room beside them (fillfactor): a change that stays on
-- its page and touches no index writes no index.

CREATE SEQUENCE fence_seq;

CREATE TABLE blobs (
    id TEXT NOT NULL,
    size BIGINT NOT NULL,
    mime TEXT NOT NULL,
    stored TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    session_id TEXT,
    CONSTRAINT blobs_pkey PRIMARY KEY (id)
);

CREATE TABLE channel_state (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    value JSONB NOT NULL,
    updated TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT channel_state_pkey PRIMARY KEY (channel, account, name)
);

CREATE TABLE jobs (
    id TEXT NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    kind TEXT NOT NULL,
    queue TEXT NOT NULL,
    serial_key TEXT,
    priority SMALLINT DEFAULT '5' NOT NULL,
    payload JSONB DEFAULT '{}' NOT NULL,
    state TEXT DEFAULT 'pending' NOT NULL,
    attempt INTEGER DEFAULT '0' NOT NULL,
    crashes INTEGER DEFAULT '0' NOT NULL,
    max_attempts INTEGER DEFAULT '5' NOT NULL,
    run_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    cancel_requested BOOLEAN DEFAULT 'false' NOT NULL,
    fence BIGINT,
    owner TEXT,
    owner_lock INTEGER,
    lease_until TIMESTAMP WITH TIME ZONE,
    result JSONB,
    error TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished TIMESTAMP WITH TIME ZONE,
    CONSTRAINT jobs_pkey PRIMARY KEY (id),
    CONSTRAINT jobs_state_known CHECK (state IN ('pending', 'running', 'waiting', 'done', 'failed', 'cancelled'))
) WITH (fillfactor = 80);
CREATE INDEX jobs_ended ON jobs (state, finished) WHERE finished IS NOT NULL;
CREATE INDEX jobs_key_alive ON jobs (serial_key, seq) WHERE state IN ('pending', 'running', 'waiting');
CREATE UNIQUE INDEX jobs_one_running ON jobs (serial_key) WHERE state = 'running' AND serial_key IS NOT NULL;
CREATE INDEX jobs_pending ON jobs (queue, priority, run_at, seq) WHERE state = 'pending';
CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
CREATE INDEX jobs_waiting ON jobs (serial_key) WHERE state = 'waiting';
CREATE INDEX jobs_undos_alive ON jobs (id) WHERE kind = 'undo' AND state IN ('pending', 'running');

CREATE TABLE processes (
    id TEXT NOT NULL,
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    command TEXT NOT NULL,
    folder TEXT NOT NULL,
    place JSONB,
    seconds DOUBLE PRECISION,
    notify BOOLEAN DEFAULT 'false' NOT NULL,
    state TEXT DEFAULT 'starting' NOT NULL,
    keeper TEXT,
    code INTEGER,
    reason TEXT DEFAULT '' NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    started TIMESTAMP WITH TIME ZONE,
    finished TIMESTAMP WITH TIME ZONE,
    kill_asked TIMESTAMP WITH TIME ZONE,
    notified TIMESTAMP WITH TIME ZONE,
    typed BYTEA DEFAULT '' NOT NULL,
    inputs INTEGER DEFAULT '0' NOT NULL,
    CONSTRAINT processes_pkey PRIMARY KEY (id),
    CONSTRAINT processes_state_known CHECK (state IN ('starting', 'running', 'exited', 'timed_out', 'killed', 'failed', 'stopped', 'lost'))
);
CREATE INDEX processes_agent ON processes (agent, created);
CREATE INDEX processes_alive ON processes (created) WHERE state IN ('starting', 'running');
CREATE INDEX processes_untold ON processes (finished) WHERE notify AND notified IS NULL AND finished IS NOT NULL;

CREATE TABLE spend_days (
    scope TEXT NOT NULL,
    day DATE NOT NULL,
    raised NUMERIC(14, 8) DEFAULT '0' NOT NULL,
    warned TIMESTAMP WITH TIME ZONE,
    CONSTRAINT spend_days_pkey PRIMARY KEY (scope, day)
);

CREATE TABLE spend_holds (
    id TEXT NOT NULL,
    turn_id TEXT,
    session_id TEXT,
    user_id TEXT,
    agent TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT DEFAULT 'answer' NOT NULL,
    scopes TEXT[] NOT NULL,
    amount NUMERIC(14, 8) NOT NULL,
    prompt NUMERIC(14, 8),
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT spend_holds_pkey PRIMARY KEY (id)
);
CREATE INDEX spend_holds_turn_id ON spend_holds (turn_id);

CREATE TABLE spend_sums (
    scope TEXT NOT NULL,
    ends TIMESTAMP WITH TIME ZONE NOT NULL,
    cost NUMERIC(14, 8) NOT NULL,
    CONSTRAINT spend_sums_pkey PRIMARY KEY (scope, ends)
);

CREATE TABLE usage (
    id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    turn_id TEXT,
    session_id TEXT,
    user_id TEXT,
    agent TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    searches INTEGER DEFAULT '0' NOT NULL,
    cost NUMERIC(14, 8),
    purpose TEXT DEFAULT 'answer' NOT NULL,
    outcome TEXT DEFAULT 'answered' NOT NULL,
    seconds REAL DEFAULT '0' NOT NULL,
    first_token REAL,
    CONSTRAINT usage_pkey PRIMARY KEY (id)
);
CREATE INDEX usage_at ON usage (at) INCLUDE (user_id, agent, cost);
CREATE INDEX usage_session_id ON usage (session_id);
CREATE INDEX usage_turn_id ON usage (turn_id);

CREATE TABLE users (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    password TEXT,
    timezone TEXT,
    language TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_name_key UNIQUE (name),
    CONSTRAINT users_role_known CHECK (role IN ('owner', 'member', 'viewer'))
);
CREATE UNIQUE INDEX users_one_owner ON users (role) WHERE role = 'owner';

CREATE TABLE workers (
    id TEXT NOT NULL,
    role TEXT NOT NULL,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    owner_lock INTEGER NOT NULL,
    queues TEXT[] DEFAULT '{}' NOT NULL,
    config_hash TEXT NOT NULL,
    version TEXT NOT NULL,
    started TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    seen TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT workers_pkey PRIMARY KEY (id)
);

CREATE TABLE api_tokens (
    id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    name TEXT NOT NULL,
    hash BYTEA NOT NULL,
    scopes TEXT[] NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    last_used TIMESTAMP WITH TIME ZONE,
    revoked TIMESTAMP WITH TIME ZONE,
    CONSTRAINT api_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT api_tokens_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT api_tokens_hash_key UNIQUE (hash)
);
CREATE INDEX api_tokens_user_id ON api_tokens (user_id);

CREATE TABLE conversations (
    id TEXT NOT NULL,
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT DEFAULT '' NOT NULL,
    user_id TEXT,
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    next_seq BIGINT DEFAULT '1' NOT NULL,
    question TEXT,
    steered TEXT[],
    title TEXT,
    archived BOOLEAN DEFAULT 'false' NOT NULL,
    chosen BOOLEAN DEFAULT 'false' NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT conversations_pkey PRIMARY KEY (id),
    CONSTRAINT conversations_channel_account_chat_thread_key UNIQUE (channel, account, chat, thread),
    CONSTRAINT conversations_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE SET NULL
) WITH (fillfactor = 80);
CREATE INDEX conversations_user_id ON conversations (user_id);

CREATE TABLE identities (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT identities_pkey PRIMARY KEY (channel, account, external_id),
    CONSTRAINT identities_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX identities_user_id ON identities (user_id);

CREATE TABLE login_links (
    hash BYTEA NOT NULL,
    user_id TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires TIMESTAMP WITH TIME ZONE NOT NULL,
    used TIMESTAMP WITH TIME ZONE,
    CONSTRAINT login_links_pkey PRIMARY KEY (hash),
    CONSTRAINT login_links_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX login_links_user_id ON login_links (user_id);

CREATE TABLE pairings (
    channel TEXT NOT NULL,
    account TEXT NOT NULL,
    external_id TEXT NOT NULL,
    name TEXT NOT NULL,
    code TEXT,
    target JSONB NOT NULL,
    user_id TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires TIMESTAMP WITH TIME ZONE NOT NULL,
    approved TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pairings_pkey PRIMARY KEY (channel, account, external_id),
    CONSTRAINT pairings_code_key UNIQUE (code),
    CONSTRAINT pairings_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX pairings_user_id ON pairings (user_id);

CREATE TABLE process_inputs (
    process_id TEXT NOT NULL,
    key TEXT NOT NULL,
    seq BIGINT GENERATED ALWAYS AS IDENTITY,
    data BYTEA NOT NULL,
    eof BOOLEAN NOT NULL,
    outcome TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT process_inputs_pkey PRIMARY KEY (process_id, key),
    CONSTRAINT process_inputs_outcome_known CHECK (outcome IN ('taken', 'written', 'closed')),
    CONSTRAINT process_inputs_process_id_fkey FOREIGN KEY(process_id) REFERENCES processes (id) ON DELETE CASCADE
);
CREATE INDEX process_inputs_new ON process_inputs (seq) WHERE outcome IS NULL;

CREATE TABLE waits (
    id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload JSONB DEFAULT '{}' NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    answer JSONB,
    consumed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT waits_pkey PRIMARY KEY (id),
    CONSTRAINT waits_job_id_fkey FOREIGN KEY(job_id) REFERENCES jobs (id) ON DELETE CASCADE
);
CREATE INDEX waits_job_id ON waits (job_id);
CREATE INDEX waits_open ON waits (expires_at) WHERE resolved_at IS NULL;

CREATE TABLE web_sessions (
    hash BYTEA NOT NULL,
    user_id TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    seen TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    expires TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT web_sessions_pkey PRIMARY KEY (hash),
    CONSTRAINT web_sessions_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX web_sessions_user_id ON web_sessions (user_id);

CREATE TABLE chat_messages (
    conversation_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    author TEXT NOT NULL,
    kind TEXT DEFAULT 'message' NOT NULL,
    user_id TEXT,
    account TEXT,
    remote_id TEXT,
    body TEXT NOT NULL,
    data JSONB DEFAULT '{}' NOT NULL,
    state TEXT NOT NULL,
    turn_id TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT chat_messages_pkey PRIMARY KEY (conversation_id, seq),
    CONSTRAINT chat_messages_author_known CHECK (author IN ('user', 'agent', 'system')),
    CONSTRAINT chat_messages_state_known CHECK (state IN ('queued', 'taken', 'withdrawn', 'sent')),
    CONSTRAINT chat_messages_conversation_id_fkey FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX chat_messages_remote ON chat_messages (account, remote_id) WHERE remote_id IS NOT NULL;
CREATE INDEX chat_messages_files ON chat_messages (conversation_id) WHERE data ? 'files';
CREATE INDEX chat_messages_turn_id ON chat_messages (turn_id);

CREATE TABLE deliveries (
    id TEXT NOT NULL,
    conversation_id TEXT,
    turn_id TEXT,
    body JSONB NOT NULL,
    state TEXT DEFAULT 'pending' NOT NULL,
    error TEXT,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished TIMESTAMP WITH TIME ZONE,
    CONSTRAINT deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT deliveries_state_known CHECK (state IN ('pending', 'sending', 'sent', 'failed', 'held', 'expired')),
    CONSTRAINT deliveries_conversation_id_fkey FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
);
CREATE INDEX deliveries_conversation_id ON deliveries (conversation_id);
CREATE INDEX deliveries_turn_id ON deliveries (turn_id);

CREATE TABLE sessions (
    id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    user_id TEXT,
    system_prompt TEXT,
    prompt_parts JSONB,
    title TEXT,
    title_source TEXT,
    archived BOOLEAN DEFAULT 'false' NOT NULL,
    forked_from TEXT,
    model TEXT,
    effort TEXT,
    personality TEXT,
    todo JSONB,
    corrections JSONB,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT sessions_pkey PRIMARY KEY (id),
    CONSTRAINT sessions_conversation_id_fkey FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE,
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE SET NULL
) WITH (fillfactor = 80);
CREATE INDEX sessions_conversation_id ON sessions (conversation_id);

CREATE TABLE grants (
    session_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT grants_pkey PRIMARY KEY (session_id, fingerprint),
    CONSTRAINT grants_session_id_fkey FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE compactions (
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    first_kept BIGINT NOT NULL,
    request_seq BIGINT,
    result_limit INTEGER,
    transcript_length BIGINT NOT NULL,
    summary TEXT NOT NULL,
    job_id TEXT NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT compactions_pkey PRIMARY KEY (session_id, seq),
    CONSTRAINT compactions_session_id_fkey FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);

CREATE TABLE delivery_chunks (
    delivery_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    state TEXT DEFAULT 'pending' NOT NULL,
    platform_id TEXT,
    attempts INTEGER DEFAULT '0' NOT NULL,
    uncertain INTEGER DEFAULT '0' NOT NULL,
    updated TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT delivery_chunks_pkey PRIMARY KEY (delivery_id, n),
    CONSTRAINT delivery_chunks_state_known CHECK (state IN ('pending', 'sending', 'sent', 'unknown', 'failed')),
    CONSTRAINT delivery_chunks_delivery_id_fkey FOREIGN KEY(delivery_id) REFERENCES deliveries (id) ON DELETE CASCADE
);

CREATE TABLE messages (
    session_id TEXT NOT NULL,
    seq BIGINT NOT NULL,
    job_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    role TEXT NOT NULL,
    blocks JSONB NOT NULL,
    meta JSONB DEFAULT '{}' NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT messages_pkey PRIMARY KEY (session_id, seq),
    CONSTRAINT messages_role_known CHECK (role IN ('user', 'assistant')),
    CONSTRAINT messages_job_id_step_key UNIQUE (job_id, step),
    CONSTRAINT messages_session_id_fkey FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX messages_media ON messages (session_id) WHERE blocks @> '[{"type": "media"}]';

CREATE TABLE tool_calls (
    session_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    name TEXT NOT NULL,
    input JSONB NOT NULL,
    state TEXT NOT NULL,
    result JSONB,
    started TIMESTAMP WITH TIME ZONE DEFAULT now(),
    finished TIMESTAMP WITH TIME ZONE,
    CONSTRAINT tool_calls_pkey PRIMARY KEY (session_id, call_id),
    CONSTRAINT tool_calls_state_known CHECK (state IN ('running', 'waiting', 'done')),
    CONSTRAINT tool_calls_session_id_fkey FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX tool_calls_job_id ON tool_calls (job_id);
CREATE INDEX tool_calls_media ON tool_calls (session_id) WHERE result ? 'media';

CREATE TABLE tainted_files (
    agent TEXT NOT NULL,
    path TEXT NOT NULL,
    written TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT tainted_files_pkey PRIMARY KEY (agent, path)
);

CREATE TABLE turns (
    id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    user_id TEXT,
    agent TEXT NOT NULL,
    origin TEXT NOT NULL,
    reply_to JSONB DEFAULT '{}' NOT NULL,
    joinable BOOLEAN DEFAULT 'false' NOT NULL,
    tainted BOOLEAN DEFAULT 'false' NOT NULL,
    draft TEXT,
    began TIMESTAMP WITH TIME ZONE,
    ended TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    reply_seq BIGINT,
    incidents JSONB DEFAULT '[]' NOT NULL,
    created TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT turns_pkey PRIMARY KEY (id),
    CONSTRAINT turns_session_id_fkey FOREIGN KEY(session_id) REFERENCES sessions (id) ON DELETE CASCADE,
    CONSTRAINT turns_conversation_id_fkey FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE
) WITH (fillfactor = 80);
CREATE INDEX turns_conversation_id ON turns (conversation_id);
CREATE INDEX turns_session_id ON turns (session_id);

-- Processes remember for some seconds who came with which token or id: they hear of changes at once.
CREATE FUNCTION tell_accounts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('hab_accounts', '');
    RETURN NULL;
END
$$;
CREATE TRIGGER api_tokens_changed AFTER UPDATE OF revoked, scopes, user_id, hash OR DELETE ON api_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION tell_accounts();
CREATE TRIGGER identities_changed AFTER UPDATE OR DELETE ON identities
    FOR EACH STATEMENT EXECUTE FUNCTION tell_accounts();
CREATE TRIGGER users_changed AFTER UPDATE OF role, name OR DELETE ON users
    FOR EACH STATEMENT EXECUTE FUNCTION tell_accounts();
