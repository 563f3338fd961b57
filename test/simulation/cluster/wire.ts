import { Buffer } from 'node:buffer';
import { Dispatcher, errors } from 'undici';
import type { Chance } from '../../programmable-engine/chance.ts';
import type { Program } from '../program.ts';
import type { Scheduler } from '../scheduler.ts';
import type { ApiAnswer, ApiRequest, ApiServer } from './api-server.ts';
import type { ApiTrouble } from './cluster-events.ts';

/** The way between one service and the API server. It outlives the service's program. */
export interface Way {
  /** What is wrong with the way now. */
  readonly trouble: () => ApiTrouble | undefined;
  /** Whether the server is there. */
  readonly isUp: () => boolean;
  /** Called as a request leaves. */
  readonly sent: (request: ApiRequest) => void;
  /** Somebody else may write just before this write arrives. */
  readonly arrives: (request: ApiRequest) => void;
  /** A watch has come to its time. */
  readonly watchEnds: (request: ApiRequest) => void;
  /** Something has been delivered to the program. */
  readonly delivered: () => void;
}

interface WireOptions {
  readonly program: Program;
  readonly scheduler: Scheduler;
  readonly server: ApiServer;
  readonly way: Way;
  readonly chance: Chance;
}

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;

const lineMs = 60_000;
/** An answer that is slow may come after the client has given up. */
const slowMs = 17_000;
const doubledMs = 20_000;

/** What becomes of one call. Undefined: no answer is heard. */
interface Fate {
  readonly upMs: number;
  readonly downMs: number;
  readonly arrives: boolean;
  readonly isAnswered: boolean;
  readonly status?: number;
  readonly againMs?: number;
}

function fateOf(trouble: ApiTrouble | undefined, chance: Chance): Fate {
  const [upMs, downMs] = [0.5 + chance() * 4, 0.5 + chance() * 4];
  const usual = { upMs, downMs, arrives: true, isAnswered: true };
  if (trouble === undefined || chance() < 0.4) return usual;
  const late = chance() < 0.5 ? chance() * slowMs : 9_000 + chance() * 6_000;
  switch (trouble) {
    case 'slow-requests':
      return { ...usual, upMs: late };
    case 'slow-answers':
      return { ...usual, downMs: late };
    case 'loses-requests':
      return { ...usual, arrives: false };
    case 'loses-answers':
      return { ...usual, isAnswered: false };
    case 'doubles':
      return { ...usual, againMs: chance() * doubledMs };
    // A proxy may give up on a call that is carried out.
    case 'fails':
      return { ...usual, arrives: chance() < 0.5, status: [429, 500, 503, 504][Math.floor(chance() * 4)] ?? 500 };
    case 'holds-watches':
      return usual;
  }
}

/** A connection pool of undici, in virtual time: what the product's client sends goes to the model of the API server. */
export class Wire extends Dispatcher {
  readonly #options: WireOptions;
  readonly #open = new Set<OpenCall>();

  constructor(options: WireOptions) {
    super();
    this.#options = options;
    options.program.onDeath(() => {
      for (const call of this.#open) call.leave();
    });
  }

  override dispatch(given: Dispatcher.DispatchOptions, handler: Handler): boolean {
    const { way, chance, scheduler } = this.#options;
    const url = new URL(given.path, 'https://api');
    const body: unknown = typeof given.body === 'string' ? JSON.parse(given.body) : undefined;
    const request = { method: given.method, path: url.pathname, query: url.searchParams, body };
    const call = openCall(given, handler, this.#options);
    // The caller may have given up before it begins.
    if (call.isOver()) return true;
    for (const each of this.#open) if (each.isOver()) this.#open.delete(each);
    this.#open.add(call);
    way.sent(request);
    const fate = fateOf(way.trouble(), chance);
    if (!fate.arrives && fate.status === undefined) return true;
    scheduler.after(fate.upMs, () => this.#arrive(request, { fate, call }));
    return true;
  }

  #arrive(request: ApiRequest, { fate, call }: { readonly fate: Fate; readonly call: OpenCall }): void {
    const { way, server, scheduler } = this.#options;
    if (!way.isUp()) {
      call.fail(fate.downMs);
      return;
    }
    if (request.query.get('watch') === 'true' && fate.status === undefined) {
      call.watch(request);
      return;
    }
    way.arrives(request);
    let answer: ApiAnswer | undefined;
    if (fate.arrives) answer = server.answer(request);
    if (fate.status !== undefined) answer = { status: fate.status, body: { message: 'no answer from the server' } };
    if (answer !== undefined && fate.isAnswered) call.answer(answer, fate.downMs);
    // What is sent twice comes once more, whatever became of it meanwhile.
    if (fate.againMs !== undefined && request.method !== 'GET')
      scheduler.after(fate.againMs, () => void (way.isUp() && server.answer(request)));
  }

  /** All watches end: `breaks` with an error, `ends` as if at their time, `silent` in that nothing comes any more. */
  endWatches(how: 'breaks' | 'ends' | 'silent'): void {
    for (const call of this.#open) call.endWatch(how);
  }

  /** Every connection breaks. */
  breakAll(): void {
    for (const call of this.#open) call.fail(0);
  }

  /**
   * Ends the calls of a dead program. Node keeps a signal that is made of others for as long as somebody listens to it, and the client
   * listens until its call ends: the world would never be freed.
   */
  release(): void {
    for (const call of this.#open) call.release();
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

interface OpenCall {
  readonly isOver: () => boolean;
  readonly answer: (answer: ApiAnswer, downMs: number) => void;
  readonly watch: (request: ApiRequest) => void;
  readonly endWatch: (how: 'breaks' | 'ends' | 'silent') => void;
  readonly fail: (downMs: number) => void;
  /** The program is dead. */
  readonly leave: () => void;
  /** The world is over. */
  readonly release: () => void;
}

function openCall(
  given: Dispatcher.DispatchOptions,
  handler: Handler,
  { program, scheduler, server, way, chance }: WireOptions,
): OpenCall {
  const cancels: (() => void)[] = [];
  let cancelTimeout: () => void = () => undefined;
  let isOver = false;
  let hasLeft = false;
  let isSilent = false;
  let isWatch = false;
  let waiting: string[] = [];

  function over(): boolean {
    if (isOver) return false;
    isOver = true;
    cancelTimeout();
    for (const cancel of cancels) cancel();
    return true;
  }

  function failWith(error: Error): void {
    if (!over()) return;
    handler.onResponseError?.(controller, error);
    way.delivered();
  }

  function arm(ms: number, error: () => Error): void {
    cancelTimeout();
    cancelTimeout = program.deliver(ms, () => failWith(error()));
  }

  /** Runs in the program, if the call is still under way. */
  function deliver(ms: number, run: () => void): void {
    program.deliver(ms, () => {
      if (isOver) return;
      run();
      way.delivered();
    });
  }

  const controller: Controller = {
    get aborted() {
      return isOver;
    },
    paused: false,
    reason: null,
    rawHeaders: null,
    abort: (reason) => {
      if (over()) handler.onResponseError?.(controller, reason);
    },
    pause: () => undefined,
    resume: () => undefined,
  };

  handler.onRequestStart?.(controller, null);
  if (!isOver) arm(given.headersTimeout ?? 0, () => new errors.HeadersTimeoutError());

  const head = (status: number): void => {
    handler.onResponseStart?.(controller, status, { 'content-type': 'application/json' }, '');
  };
  const end = (): void => {
    if (over()) handler.onResponseEnd?.(controller, {});
  };

  /** Lines go in their order, several together if they come close together, and cut anywhere. */
  function flush(): void {
    const text = waiting.join('');
    waiting = [];
    if (text === '' || isSilent) return;
    const cut = Math.floor(chance() * text.length);
    arm(given.bodyTimeout ?? 0, () => new errors.BodyTimeoutError());
    for (const piece of [text.slice(0, cut), text.slice(cut)])
      if (piece !== '' && !isOver) handler.onResponseData?.(controller, Buffer.from(piece));
  }

  function send(line: string): void {
    waiting.push(line);
    if (waiting.length > 1) return;
    const heldMs = way.trouble() === 'holds-watches' ? chance() * slowMs : 0;
    deliver(1 + chance() * 20 + heldMs, flush);
  }

  function watch(request: ApiRequest): void {
    if (isOver) return;
    isWatch = true;
    deliver(1, () => {
      head(200);
      arm(given.bodyTimeout ?? 0, () => new errors.BodyTimeoutError());
    });
    const stop = server.watch(request, send);
    const seconds = Number(request.query.get('timeoutSeconds'));
    const bookmark = (): void => {
      send(server.bookmark(request));
      cancels[1] = scheduler.after(lineMs, bookmark);
    };
    cancels.push(
      stop,
      scheduler.after(lineMs, bookmark),
      scheduler.after(seconds * 1000, () => {
        endWatch('ends');
        way.watchEnds(request);
      }),
    );
  }

  function endWatch(how: 'breaks' | 'ends' | 'silent'): void {
    if (!isWatch) return;
    // A bookmark after the last event would have a version whose events were not sent.
    for (const cancel of cancels) cancel();
    if (how === 'silent') isSilent = true;
    else if (how === 'breaks') fail(1);
    else
      deliver(25, () => {
        flush();
        if (!isSilent) end();
      });
  }

  function fail(downMs: number): void {
    deliver(downMs, () => failWith(new errors.SocketError('other side closed')));
  }

  return {
    isOver: () => isOver,
    answer: ({ status, body }, downMs) =>
      deliver(downMs, () => {
        head(status);
        handler.onResponseData?.(controller, Buffer.from(JSON.stringify(body)));
        end();
      }),
    watch,
    endWatch,
    fail,
    leave: () => {
      hasLeft = over();
    },
    release: () => {
      if (hasLeft) handler.onResponseError?.(controller, new errors.ClientDestroyedError());
    },
  };
}
