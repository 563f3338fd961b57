import { request } from 'undici';
import type { Backend } from '../../core/catalog.ts';
import type { Cause } from '../../core/cause.ts';
import type { EngineErrorReading } from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import type { Headers } from '../../core/headers.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { type EngineModel, readModelList } from '../../core/model-list.ts';
import { causeOfError } from '../../core/connect-cause.ts';
import { bytesOf, createDirectAgent, directOrigin } from './direct-agent.ts';

/**
 * What an engine answers when it is asked for its models. `lists`: its models, where they can be read; undefined if there
 * are more. `fails`: why no request to it can succeed. `unclear`: it has no such list, which says nothing about requests.
 */
export type ModelsAnswer =
  | { readonly kind: 'lists'; readonly models?: readonly EngineModel[] | undefined }
  | { readonly kind: 'fails'; readonly cause: Cause; readonly status?: number; readonly said?: string | undefined }
  | { readonly kind: 'unclear' };

const timeoutMs = 3_000;
const maxBytes = 1_048_576;

/** Causes that a list of models shows. Others, such as a missing path, may hold for the list alone. */
const certain: ReadonlySet<Cause> = new Set<Cause>([
  'credential-refused',
  'no-quota',
  'redirects',
  'not-an-api',
  'loading',
  'tls-expected',
  'out-of-memory',
]);

/** The parts of a Backend that a question to it needs. */
type AskedBackend = Pick<Backend, 'path' | 'headers' | 'query'> & {
  readonly cluster: Pick<Backend['cluster'], 'tls' | 'host'>;
};

/** Reads the body of an error, as the answer to a call. */
export type ReadError = (
  status: number,
  text: string,
  asked: { readonly path: string; readonly headers: Headers },
) => EngineErrorReading;

interface AskOptions {
  /** `address:port`. */
  readonly endpoint: string;
  readonly authority: string;
  readonly read: ReadError;
}

/**
 * Sends `GET …/models` to one endpoint of a Backend, with its credential. Past Envoy, like `checkEndpoint`. A redirect is
 * not followed, so that the credential stays at the endpoint. Never rejects.
 */
export async function askModels(
  { cluster: { tls, host }, path, headers = [], query = '' }: AskedBackend,
  { endpoint, authority, read }: AskOptions,
): Promise<ModelsAnswer> {
  const dispatcher = createDirectAgent(tls, { timeoutMs });
  try {
    const answer = await request(`${directOrigin(tls, endpoint)}${path}/models${query}`, {
      dispatcher,
      headers: { 'user-agent': 'weir', ...Object.fromEntries(headers), host: host ?? authority },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const { statusCode: status, body, headers: answered } = answer;
    const isPage = String(answered['content-type']).startsWith('text/html');
    if (status === 200) {
      const text = await textOf(body);
      return isPage ? { kind: 'fails', cause: 'not-an-api', status } : { kind: 'lists', models: modelsIn(text) };
    }
    const reading = read(status, await textOf(body), { path: query, headers });
    const cause = causeOf({ kind: 'status', status, detail: '', ...reading });
    return certain.has(cause) ? { kind: 'fails', cause, status, said: reading.said } : { kind: 'unclear' };
  } catch (error) {
    return { kind: 'fails', cause: causeOfError(error) };
  } finally {
    await dispatcher.destroy();
  }
}

/** The models of a list that is whole. A list without any is not believed: some engines answer so before they serve. */
function modelsIn(text: string): readonly EngineModel[] | undefined {
  const json = parseJson(text);
  const models = isObject(json) && json['has_more'] === true ? undefined : readModelList(json);
  return models?.length === 0 ? undefined : models;
}

const textOf = async (body: AsyncIterable<unknown>): Promise<string> => (await bytesOf(body, maxBytes)).toString();
