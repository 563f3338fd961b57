import { Agent, fetch } from 'undici';
import * as z from 'zod';
import { pause, systemClock } from '../../process/clock.ts';
import { messageOf } from '../../core/failure.ts';
import { StartRefusal } from './refusal.ts';

const list = z.object({ data: z.array(z.object({ id: z.string() })) });

const patienceMs = 10_000;
const pollMs = 250;

/**
 * Asks for the catalog the way a caller does, through Envoy, until it answers and, when models are expected, lists
 * one: a backend may first have to pass its health check. Resolves to the ids; none when it took too long for them.
 * Throws StartRefusal when the gateway does not answer at all.
 */
export async function listedModels(
  baseUrl: string,
  options: { readonly expectSome: boolean; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  // It is our own edge, and a certificate made for its public name is not made for 127.0.0.1.
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  const deadline = systemClock.elapsed() + patienceMs;
  let trouble = 'it did not answer';
  try {
    for (;;) {
      let ids: readonly string[] | undefined;
      try {
        const response = await fetch(`${baseUrl}/models`, { dispatcher: agent, signal: options.signal });
        const body = await response.text();
        if (response.status === 200) ids = list.parse(JSON.parse(body)).data.map(({ id }) => id);
        else trouble = `it answered with status ${response.status}`;
      } catch (error) {
        trouble = messageOf(error);
      }
      if (ids !== undefined && (ids.length > 0 || !options.expectSome)) return ids;
      if (options.signal.aborted) return [];
      if (systemClock.elapsed() > deadline) {
        if (ids !== undefined) return ids;
        throw new StartRefusal(`${baseUrl}/models: ${trouble}. The logs say more.`);
      }
      await pause(pollMs, options.signal);
    }
  } finally {
    await agent.destroy();
  }
}
