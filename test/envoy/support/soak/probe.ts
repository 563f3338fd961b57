import { Agent, request as startRequest } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../../../support/quantile.ts';
import { startYardstick } from '../yardstick.ts';
import { attackedModels } from './attacked-models.ts';

/** How long a plain short request takes when nothing else is asked. */
export interface ProbeFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The median of a question that does not go through the gateway: the machine's doing. */
  readonly machineP50Ms: number;
}

export interface Probe {
  readonly origin: string;
  readonly key: string;
  readonly count: number;
  /** Answers at once and is no part of the gateway. */
  readonly machineUrl: string;
}

const everyMs = 40;

/** Sends so many short requests, one each 40 ms. Rejects when one of them is not answered well. */
export async function probe({ origin, key, count, machineUrl }: Probe): Promise<ProbeFigures> {
  const agent = new Agent({ keepAlive: true });
  const machine = startYardstick(machineUrl);
  const body = JSON.stringify({
    ...{ model: attackedModels.probed, reasoning_effort: 'none' },
    messages: [{ role: 'user', content: 'How high is it? [[demo {"words": 3}]]' }],
  });
  const ask = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const begunMs = performance.now();
      const request = startRequest(`${origin}/v1/chat/completions`, {
        ...{ agent, method: 'POST' },
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      });
      request.once('error', reject);
      request.once('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.once('close', () => {
          if (response.statusCode === 200 && text.includes('"finish_reason":"stop"')) {
            resolve(performance.now() - begunMs);
          } else reject(new Error(`the probe was answered ${response.statusCode}: ${text}`));
        });
      });
      request.end(body);
    });
  try {
    const asked: Promise<number>[] = [];
    const begunMs = performance.now();
    for (let index = 0; index < count; index += 1) {
      asked.push(ask());
      await pause(Math.max(0, begunMs + (index + 1) * everyMs - performance.now()));
    }
    const times = await Promise.all(asked);
    const machineP50Ms = quantile(await machine.stop(), 0.5);
    return { p50Ms: quantile(times, 0.5), p99Ms: quantile(times, 0.99), machineP50Ms };
  } finally {
    await machine.stop();
    agent.destroy();
  }
}
