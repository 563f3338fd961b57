import { expect } from 'vitest';
import type { Caller } from './caller.ts';
import { putTogether } from './put-together.ts';

/** One answered question, as far as its bill goes. */
export interface Answered {
  readonly id: string;
  /** By `performance.now`. */
  readonly askedAtMs: number;
  readonly usage: Readonly<Record<string, unknown>>;
}

export interface Asking {
  readonly answered: readonly Answered[];
  /** Resolves when so many more questions have been asked and answered; rejects with the first that was not. */
  readonly more: (count: number) => Promise<void>;
  /** Asks no more, waits for what is open, and expects that every question was answered well. */
  readonly stop: () => Promise<void>;
}

/** Asks a model over and over, so many questions at once, every other one streaming; each takes some 200 ms. */
export function keepAsking(caller: Caller, model: string, atOnce = 20): Asking {
  const answered: Answered[] = [];
  const failures: string[] = [];
  const question = 'Are you there? [[demo {"words": 8, "tokenDelayMs": 15}]]';
  let isOver = false;
  let looks: (() => void)[] = [];

  const askOnce = async (stream: boolean): Promise<void> => {
    const askedAtMs = performance.now();
    const body = { model, stream, messages: [{ role: 'user', content: question }] };
    const answer = await caller.ask(stream ? { ...body, stream_options: { include_usage: true } } : body);
    expect([answer.status, await answer.ended, stream ? '' : answer.text()]).toEqual([
      ...[200, 'clean', stream ? '' : expect.stringContaining('"finish_reason":"stop"')],
    ]);
    const id = /"id":"(chatcmpl-[^"]+)"/.exec(answer.text())?.[1] ?? '';
    const whole = stream
      ? putTogether(answer.text())
      : (JSON.parse(answer.text()) as { readonly usage: Answered['usage'] });
    answered.push({ id, askedAtMs, usage: whole.usage });
  };
  const askInTurn = async (_: unknown, index: number): Promise<void> => {
    for (let round = index; !isOver; round += 1) {
      await askOnce(round % 2 === 0).catch((error: unknown) => failures.push(String(error)));
      for (const look of looks) look();
    }
  };
  const allAsked = Promise.all(Array.from({ length: atOnce }, askInTurn));

  return {
    answered,
    more: (count) =>
      new Promise((resolve, reject) => {
        const from = answered.length;
        looks.push(() => {
          if (failures.length > 0) reject(new Error(failures[0]));
          if (answered.length >= from + count) resolve();
        });
      }),
    stop: async () => {
      isOver = true;
      await allAsked;
      looks = [];
      expect(failures).toEqual([]);
    },
  };
}
