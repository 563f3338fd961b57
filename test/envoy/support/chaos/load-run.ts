import type { Caller } from '../caller.ts';
import { putTogether } from '../put-together.ts';

export interface LoadOptions {
  readonly caller: Caller;
  readonly model: string;
  readonly requests: number;
  readonly atOnce: number;
}

/** One request of a run, in the order in which they were sent. */
export interface LoadSample {
  readonly stream: boolean;
  /** To the first byte of a stream's body; to the end of an answer in one piece. */
  readonly ms: number;
}

export interface LoadRun {
  readonly samples: readonly LoadSample[];
  /** What was wrong with each answer that was not whole. */
  readonly errors: readonly string[];
}

const finished = (reason: unknown): void => {
  if (reason !== 'stop') throw new Error(`it finished with ${String(reason)}`);
};

/** Sends so many requests, every other one for a stream, never more than so many at once, and reads every answer to its end. */
export async function runLoad({ caller, model, requests, atOnce }: LoadOptions): Promise<LoadRun> {
  const samples: LoadSample[] = [];
  const errors: string[] = [];
  let sent = 0;

  async function ask(number: number): Promise<void> {
    const stream = number % 2 === 0;
    // Each says something of its own: what begins alike would be kept on the route that served it last.
    const messages = [{ role: 'user', content: `Question ${number} of ${model}: how are you?` }];
    const begun = performance.now();
    const answer = await caller.open({
      ...{ model, messages, stream },
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    }).answer;
    if (stream) await answer.until((text) => text !== '');
    else await answer.ended;
    samples[number] = { stream, ms: performance.now() - begun };
    const how = await answer.ended;
    const text = answer.text();
    if (answer.status !== 200 || how !== 'clean') throw new Error(`${answer.status} ${how} ${text}`);
    const whole = stream ? putTogether(text) : (JSON.parse(text) as Pick<ReturnType<typeof putTogether>, 'choices'>);
    finished(whole.choices[0]?.finish_reason);
  }

  async function lane(): Promise<void> {
    while (sent < requests) {
      const number = sent;
      sent += 1;
      await ask(number).catch((error: unknown) => errors.push(`request ${number}: ${String(error)}`));
    }
  }

  await Promise.all(Array.from({ length: atOnce }, lane));
  return { samples, errors };
}
