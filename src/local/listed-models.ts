import { Agent, fetch } from 'undici';
import * as z from 'zod';

const list = z.object({ data: z.array(z.object({ id: z.string() })) });

/** A gateway's answer to `GET /v1/models`. */
type ModelsAnswer =
  | { readonly kind: 'listed'; readonly ids: readonly string[] }
  | { readonly kind: 'refused'; readonly status: number };

/** Asks gateways on this machine for their models. Close it when it is not needed any more. */
interface ModelsClient {
  /** `baseUrl`: with `/v1`. Rejects if no gateway answers there. */
  readonly ask: (baseUrl: string, signal: AbortSignal) => Promise<ModelsAnswer>;
  readonly close: () => Promise<void>;
}

export function createModelsClient(): ModelsClient {
  // This is our own edge, whose certificate is for its public name and not for 127.0.0.1.
  const agent = new Agent({ connect: { rejectUnauthorized: false } });
  return {
    ask: async (baseUrl, signal) => {
      const response = await fetch(`${baseUrl}/models`, { dispatcher: agent, signal });
      const body = await response.text();
      if (response.status !== 200) return { kind: 'refused', status: response.status };
      return { kind: 'listed', ids: list.parse(JSON.parse(body)).data.map(({ id }) => id) };
    },
    close: () => agent.destroy(),
  };
}
