import { request as requestOverTls } from 'node:https';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

// With `import`, Node loads its `fetch`, too (docs/decisions/0100).
const { request: requestInClear } = process.getBuiltinModule('node:http');

const list = z.object({ data: z.array(z.object({ id: z.string() })) });

/** A gateway's answer to `GET /v1/models`. */
type ModelsAnswer =
  | { readonly kind: 'listed'; readonly ids: readonly string[] }
  | { readonly kind: 'refused'; readonly status: number };

/**
 * Asks a gateway on this machine for its models. `baseUrl`: with `/v1`. Rejects if no gateway answers there. Uses Node's
 * own client, because loading undici takes 75 ms of processor time at each start.
 */
export async function askForModels(baseUrl: string, signal: AbortSignal): Promise<ModelsAnswer> {
  const url = new URL(`${baseUrl}/models`);
  // A connection of its own, which ends with the answer.
  const options = { agent: false, signal } as const;
  const request =
    url.protocol === 'https:'
      ? // This is our own edge, whose certificate is for its public name and not for 127.0.0.1.
        requestOverTls(url, { ...options, rejectUnauthorized: false })
      : requestInClear(url, options);
  const { promise, resolve, reject } = Promise.withResolvers<ModelsAnswer>();
  request.once('error', reject);
  request.once('response', (response) => {
    const { statusCode: status = 0 } = response;
    text(response)
      .then((body) =>
        status === 200
          ? resolve({ kind: 'listed', ids: list.parse(JSON.parse(body)).data.map(({ id }) => id) })
          : resolve({ kind: 'refused', status }),
      )
      .catch(reject);
  });
  request.end();
  return promise;
}
