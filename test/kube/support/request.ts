import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type Agent, request } from 'node:https';
import type { KubeConnection } from './api-server.ts';

export interface KubeAnswer {
  readonly status: number;
  /** The object, or the `Status` that says what was wrong. Text where the answer was none of JSON. */
  readonly body: unknown;
}

export interface KubeRequestOptions {
  readonly body?: unknown;
  /** Default: `application/json`; patches have types of their own. */
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** To keep connections for many requests. Default: one of its own each. */
  readonly agent?: Agent;
}

const limitMs = 30_000;

/** One request to the API server. Rejects when there is no answer; any answer is a result. */
export async function kubeRequest(
  connection: Omit<KubeConnection, 'kubeconfig'>,
  method: string,
  path: string,
  { body, contentType = 'application/json', headers = {}, agent }: KubeRequestOptions = {},
): Promise<KubeAnswer> {
  const asked = request(new URL(path, connection.url), {
    ...{ method, agent: agent ?? false, ca: readFileSync(connection.caFile), signal: AbortSignal.timeout(limitMs) },
    headers: { authorization: `Bearer ${connection.token}`, 'content-type': contentType, ...headers },
  });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await Array.fromAsync(answer)).toString();
  return { status: answer.statusCode ?? 0, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
