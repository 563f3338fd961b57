import { selfSigned } from '../../../support/self-signed.ts';
import { engineCertificates } from './engine-certificates.ts';
import { answer, answering, beginning, type Conduct, failing, goodTls, speak, well } from './sabotaged-engine.ts';

/** One way in which an engine breaks, and the sentence that `weir problems` has for it. */
export interface EngineSabotage {
  /** Name of the Backend. */
  readonly name: string;
  /** A part of the line that names the cause. */
  readonly says: string;
  /** What the line quotes of the engine's own words. Undefined: the engine says nothing that may be quoted. */
  readonly quotes?: string;
  readonly broken: Conduct;
  /** Whether the Backend has TLS, with the authority of `engineCertificates`. */
  readonly tls?: true;
  /** More fields of the Backend. */
  readonly spec?: string;
}

const { key, expired, otherName, good, authority } = engineCertificates;
const page = '<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>';

/** Everything that a connection can fail by. */
const connections: readonly EngineSabotage[] = [
  { name: 'dead', says: 'refuses connections', broken: 'refuses' },
  { name: 'mute', says: 'does not answer a connection in time', broken: () => undefined, tls: true },
  {
    name: 'expired',
    says: 'has an expired certificate',
    broken: speak(well, { key, cert: expired }),
    tls: true,
  },
  {
    name: 'stranger',
    says: 'has a certificate of an unknown authority',
    broken: speak(well, { key: selfSigned.key, cert: selfSigned.certificate }),
    tls: true,
  },
  {
    name: 'other-name',
    says: 'has a certificate for another host name',
    broken: speak(well, { key, cert: otherName }),
    tls: true,
  },
  {
    name: 'asks-back',
    // TLS 1.2 has no alert of its own for it.
    says: 'fails the TLS handshake',
    broken: speak(well, { key, cert: good, ca: authority, requestCert: true, rejectUnauthorized: true }),
    tls: true,
  },
  { name: 'plain', says: 'speaks plain HTTP where TLS is expected', broken: speak(well), tls: true },
  {
    name: 'tls-only',
    says: 'expects TLS, but gets plain HTTP',
    broken: speak(failing(400, '<html><body>400 The plain HTTP request was sent to HTTPS port</body></html>')),
  },
];

/** Everything that an engine can refuse, for its list of models and for requests alike. */
const refusals: readonly EngineSabotage[] = [
  {
    name: 'wrong-key',
    says: 'refuses the credential (HTTP 401)',
    quotes: 'Incorrect API key provided',
    broken: speak(
      failing(401, { message: 'Incorrect API key provided', type: 'invalid_request_error', code: 'invalid_api_key' }),
    ),
  },
  {
    name: 'forbidden',
    says: 'refuses the credential (HTTP 403)',
    quotes: 'Access denied',
    broken: speak(failing(403, { message: 'Access denied', type: 'permission_error' })),
  },
  {
    name: 'no-money',
    says: 'has no money or quota left (HTTP 402)',
    quotes: 'Insufficient Balance',
    broken: speak(answering(failing(402, { message: 'Insufficient Balance', type: 'unknown_error' }))),
  },
  {
    name: 'no-quota',
    says: 'has no money or quota left (HTTP 429)',
    broken: speak(
      answering(
        failing(429, {
          message: 'You exceeded your current quota, please check your plan and billing details.',
          type: 'insufficient_quota',
          code: 'insufficient_quota',
        }),
      ),
    ),
  },
  {
    name: 'limited',
    says: 'is at its rate limit (HTTP 429)',
    broken: speak(
      answering(
        failing(429, { message: 'Rate limit reached for requests', type: 'requests', code: 'rate_limit_exceeded' }),
      ),
    ),
  },
  {
    name: 'no-model',
    says: 'has no such model (HTTP 404)',
    broken: speak(
      answering(
        failing(404, {
          message: 'The model `demo-chat` does not exist.',
          type: 'NotFoundError',
          param: 'model',
          code: 404,
        }),
      ),
    ),
  },
  {
    name: 'no-path',
    says: 'has no such path (HTTP 404)',
    broken: speak(failing(404, { message: 'Not Found', type: 'NotFoundError', code: 404 })),
  },
  {
    name: 'moved',
    says: 'redirects to another address (HTTP 302)',
    broken: speak((_, response) => void response.writeHead(302, { location: 'https://login.example/' }).end()),
  },
  { name: 'a-page', says: 'answers with a page instead of an API', broken: speak(failing(200, page)) },
];

/** An engine that takes requests, and cannot serve them. */
const failures: readonly EngineSabotage[] = [
  {
    name: 'loading',
    says: 'is loading its model (HTTP 503)',
    quotes: 'Loading model',
    broken: speak(failing(503, { message: 'Loading model', type: 'unavailable_error', code: 503 })),
  },
  {
    name: 'busy',
    says: 'is full',
    broken: speak(answering(failing(503, { message: 'Engine is at capacity', type: 'overloaded_error', code: 503 }))),
  },
  {
    name: 'no-memory',
    says: 'ran out of memory (HTTP 500)',
    quotes: 'CUDA out of memory. Tried to allocate 2.00 GiB',
    broken: speak(
      answering(
        failing(500, { message: 'CUDA out of memory. Tried to allocate 2.00 GiB', type: 'InternalServerError' }),
      ),
    ),
  },
  {
    name: 'no-parser',
    says: 'has no tool parser',
    broken: speak(
      answering(
        failing(400, {
          message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
          type: 'BadRequestError',
        }),
      ),
    ),
  },
  {
    name: 'no-template',
    says: 'has no chat template',
    broken: speak(
      answering(
        failing(400, {
          message:
            'As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template',
          type: 'BadRequestError',
        }),
      ),
    ),
  },
  {
    name: 'refuses-own',
    says: 'refuses a parameter that the gateway sends',
    broken: speak(
      answering(
        failing(400, {
          message: "Unsupported parameter: 'cache_salt' is not supported.",
          type: 'invalid_request_error',
          param: 'cache_salt',
        }),
      ),
    ),
  },
  {
    name: 'crashing',
    says: 'reports an internal error (HTTP 500)',
    quotes: 'EngineCore encountered an issue',
    broken: speak(answering(failing(500, { message: 'EngineCore encountered an issue', type: 'InternalServerError' }))),
  },
  {
    name: 'breaking-off',
    says: 'breaks off its answers',
    broken: speak(
      answering((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(beginning, () => response.destroy());
      }),
    ),
  },
  {
    name: 'silent',
    says: 'falls silent',
    spec: 'timeouts: {firstOutputSeconds: 2, idleSeconds: 2}',
    broken: speak(
      answering(
        (_, response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(beginning),
      ),
    ),
  },
  {
    name: 'uncounted',
    says: 'reports no usable counts of tokens, and the model has no tokenizer',
    broken: speak(
      answering((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(`${answer}data: [DONE]\n\n`);
      }),
    ),
  },
  {
    name: 'no-http',
    says: 'answers in a form that cannot be read',
    broken: (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  },
];

export const engineSabotages: readonly EngineSabotage[] = [...connections, ...refusals, ...failures];

/** How the engine of a row is when it is well. */
export const wellConduct = ({ tls }: EngineSabotage): Conduct => speak(well, tls === undefined ? undefined : goodTls);
