import { putTogether, type PutTogether } from '../put-together.ts';

/** A stream that ended in the words of docs/reference/api.md §7.3. */
export interface Interrupted {
  /** What came before: with a finish reason where a choice had ended. */
  readonly choices: PutTogether['choices'];
  readonly terminal: Readonly<Record<string, unknown>>;
}

const done = 'data: [DONE]\n\n';

/**
 * Reads one. Up to its terminal chunk it must be what a whole stream is, so it is read as one that has been ended. Throws when
 * it is not.
 */
export function readInterrupted(stream: string): Interrupted {
  if (!stream.endsWith(done)) throw new Error(`the last frame is not [DONE]: ${stream.slice(-300)}`);
  const frames = stream.slice(0, -done.length).split('\n\n').slice(0, -1);
  const last = frames.pop();
  if (last === undefined) throw new Error('nothing came');
  const terminal = JSON.parse(last.slice('data: '.length)) as Interrupted['terminal'];
  const open = new Set<number>();
  for (const frame of frames) {
    const { choices } = JSON.parse(frame.slice('data: '.length)) as PutTogether;
    for (const { index, finish_reason: reason } of choices) {
      if (reason === null) open.add(index);
      else open.delete(index);
    }
  }
  const { id, object, created, model } = terminal;
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id, object, created, model, usage: null, ...more })}`;
  const ends = [...open].map((index) => chunk({ choices: [{ index, delta: {}, finish_reason: 'none' }] }));
  const ended = [...frames, ...ends, chunk({ choices: [], usage: {} })].map((frame) => `${frame}\n\n`).join('');
  return { choices: putTogether(ended + done).choices, terminal };
}

/** What is wrong with the terminal chunk; undefined when nothing is. */
export function faultOfTerminal({ terminal }: Interrupted): string | undefined {
  const { choices, error } = terminal as {
    readonly choices?: readonly { readonly finish_reason?: unknown }[];
    readonly error?: Readonly<Record<string, unknown>>;
  };
  if (choices?.[0]?.finish_reason !== 'error') return `the last chunk has no finish_reason "error"`;
  if (error?.['code'] !== 'stream_interrupted') return `the code is ${String(error?.['code'])}`;
  return typeof error['message'] === 'string' && error['type'] === 'service_error' ? undefined : 'no error envelope';
}
