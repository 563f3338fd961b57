/** A thread that answers questions of one kind. The first question starts it, and so does the first question after its end. */
export interface WorkerThread<Ask, Reply> {
  /**
   * Sends a question; the buffers of `transfer` are handed over and not copied. Rejects with `ThreadEnded` when the thread dies,
   * is silent for too long or is closed before it has replied.
   */
  readonly ask: (ask: Ask, transfer?: ArrayBuffer[]) => Promise<Reply>;
  /** Sends a message without a reply. Does nothing while no thread runs. */
  readonly post: (message: Ask) => void;
  /** Questions without a reply so far. */
  readonly pending: () => number;
  /** Resolves when the thread has ended. */
  readonly close: () => Promise<void>;
}

/** Why a question has no reply. */
export class ThreadEnded extends Error {
  /** False: the thread has never replied, so this question need not be the cause of its end. */
  readonly hadStarted: boolean;

  constructor(message: string, { hadStarted, cause }: { readonly hadStarted: boolean; readonly cause: unknown }) {
    super(message, { cause });
    this.name = 'ThreadEnded';
    this.hadStarted = hadStarted;
  }
}

/** A message to the thread's script. Without an id, no caller waits for a reply. */
export interface ThreadMessage<Ask> {
  readonly id: number | undefined;
  readonly ask: Ask;
}

/** The script's message: a reply, or once `ready`, when it has loaded what it needs. */
export type ThreadReply<Reply> = { readonly id: number | undefined; readonly reply: Reply } | 'ready';

export interface ThreadOptions {
  readonly script: URL;
  readonly name?: string;
  readonly workerData?: unknown;
  /** The thread's environment; that of the process by default. */
  readonly env?: Readonly<Record<string, string>>;
  readonly maxHeapMb?: number;
  /** Most megabytes of the thread's young generation. Default: that of the process, which is large. */
  readonly maxYoungMb?: number;
  /**
   * Longest silence of a thread with open questions and a processor. A pattern that never ends cannot be interrupted,
   * but its thread can be ended. If other programs have the processors, the limit is nine times as long, but at most
   * ten seconds longer.
   */
  readonly silenceMs: number;
  /** Longest silence of a thread that has just been started; `silenceMs` by default. */
  readonly startMs?: number;
  /** A thread without questions is ended after this time; never by default. */
  readonly idleMs?: number;
}

/** `startThread` of src/process/worker-thread.ts. Folders that need it get it as an argument. */
export type StartThread = <Ask, Reply>(options: ThreadOptions) => WorkerThread<Ask, Reply>;
