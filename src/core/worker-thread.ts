/** The functions that a thread runs, by name. What they receive and return is cloned. They may return promises. */
type Given<Functions, Name extends keyof Functions> = Functions[Name] extends (...given: infer Values) => unknown
  ? Values
  : never;
type Result<Functions, Name extends keyof Functions> = Functions[Name] extends (...given: never[]) => infer Value
  ? Awaited<Value>
  : never;

/** A thread that runs the functions of a module. The first call starts it, and so does the first call after its end. */
export interface WorkerThread<Functions> {
  /**
   * Calls a function; the buffers of `transfer` are handed over and not cloned. Rejects with the `Failure` that the function throws.
   * Rejects with `ThreadEnded` when the thread dies, is silent for too long or is closed before the function returns.
   */
  readonly call: <Name extends keyof Functions & string>(
    name: Name,
    given: Given<Functions, Name>,
    transfer?: ArrayBuffer[],
  ) => Promise<Result<Functions, Name>>;
  /** Calls a function whose result nobody needs. Does nothing while no thread runs. */
  readonly post: <Name extends keyof Functions & string>(name: Name, given: Given<Functions, Name>) => void;
  /** Calls without a result so far. */
  readonly pending: () => number;
  /** Resolves when the thread has ended. */
  readonly close: () => Promise<void>;
}

/** Why a call has no result. */
export class ThreadEnded extends Error {
  /** False: the thread has never run a function, so this call need not be the cause of its end. */
  readonly hadStarted: boolean;

  constructor(message: string, { hadStarted, cause }: { readonly hadStarted: boolean; readonly cause: unknown }) {
    super(message, { cause });
    this.name = 'ThreadEnded';
    this.hadStarted = hadStarted;
  }
}

export interface ThreadOptions<Data> {
  /** A module that exports `createFunctions`, which receives `data` and returns the functions. */
  readonly module: URL;
  readonly data: Data;
  readonly name?: string;
  /** For work that takes long and can wait while others need the processor. */
  readonly isLowPriority?: boolean;
  /** The thread's environment; that of the process by default. */
  readonly env?: Readonly<Record<string, string>>;
  readonly maxHeapMb?: number;
  /** Most megabytes of the thread's young generation. Default: that of the process, which is large. */
  readonly maxYoungMb?: number;
  /**
   * Longest silence of a thread with open calls and a processor. A pattern that never ends cannot be interrupted,
   * but its thread can be ended. If other programs have the processors, the limit is nine times as long, but at most
   * ten seconds longer.
   */
  readonly silenceMs: number;
  /** Longest silence of a thread that has just been started; `silenceMs` by default. */
  readonly startMs?: number;
  /** A thread without calls is ended after this time; never by default. */
  readonly idleMs?: number;
}

/** `startThread` of src/process/worker-thread.ts. Folders that need it get it as an argument. */
export type StartThread = <Create extends (data: never) => unknown>(
  options: ThreadOptions<Parameters<Create>[0]>,
) => WorkerThread<ReturnType<Create>>;
