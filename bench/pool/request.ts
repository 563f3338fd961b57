/** A request of a workload. */
export interface PoolRequest {
  readonly id: number;
  /** The blocks of the prompt, and of the answer behind it. Equal numbers: equal text after an equal beginning. */
  readonly blocks: readonly number[];
  /** How many of them are whole blocks of the prompt. */
  readonly promptBlocks: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** What today's Weir names a conversation: equal for prompts that have the same beginning up to the first message. */
  readonly conversation: number;
}

/** A request of a session: it is sent at its time, but not before the answers it rests on are there. */
export interface SessionRequest {
  readonly request: PoolRequest;
  /** Milliseconds after the session's begin. */
  readonly atMs: number;
  /** Index in the session of the request whose answer comes first. Undefined: none. */
  readonly after: number | undefined;
  /** How long after that answer. */
  readonly pauseMs: number;
}

export interface Session {
  readonly requests: readonly SessionRequest[];
  /** The endpoint to which its requests go past the gateway, which learns nothing of them. Absent: they go through the gateway. */
  readonly past?: number;
}

/** When sessions begin: at their times, or each as soon as one of so many callers is free. */
export type Arrivals =
  | { readonly kind: 'open'; readonly startMs: readonly number[] }
  | { readonly kind: 'closed'; readonly callers: number };

export interface Load {
  readonly sessions: readonly Session[];
  readonly arrivals: Arrivals;
  readonly blockTokens: number;
  /** Requests sent before this time, or after that one, are not measured. */
  readonly measured: { readonly fromMs: number; readonly toMs: number };
}
