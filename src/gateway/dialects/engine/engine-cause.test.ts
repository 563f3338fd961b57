import { describe, expect, it } from 'vitest';
import { causeOf } from '../../../core/fault-cause.ts';
import { chatErrors } from './read-error.ts';

const said = (message: string, facts: object = {}): string => JSON.stringify({ error: { message, ...facts } });

/** What engines and hosts write, by their own sources and public reports. */
const rows: readonly (readonly [status: number, body: string, cause: string])[] = [
  [401, said('Incorrect API key provided', { code: 'invalid_api_key' }), 'credential-refused'],
  [403, 'Forbidden', 'credential-refused'],
  [402, said('Payment required'), 'no-quota'],
  [402, said('Insufficient Balance'), 'no-quota'],
  [429, said('You exceeded your current quota', { type: 'insufficient_quota' }), 'no-quota'],
  [404, said('The model `qwen` does not exist.', { type: 'NotFoundError' }), 'no-such-model'],
  [404, '{"error":"model \'qwen\' not found, try pulling it first"}', 'no-such-model'],
  [400, said('Invalid model: qwen', { type: 'invalid_model' }), 'no-such-model'],
  [
    404,
    said('The model `gpt-9` does not exist or you do not have access to it.', { code: 'model_not_found' }),
    'no-such-model',
  ],
  [404, '{"detail":"Not Found"}', 'no-such-path'],
  [404, '404 page not found', 'no-such-path'],
  [405, '', 'no-such-path'],
  [301, '', 'redirects'],
  [307, '', 'redirects'],
  [404, '<!DOCTYPE html><html><body>nothing here</body></html>', 'not-an-api'],
  [502, '<html><head><title>502 Bad Gateway</title></head></html>', 'not-an-api'],
  [400, '<html><h1>400 The plain HTTP request was sent to HTTPS port</h1></html>', 'tls-expected'],
  [400, 'Client sent an HTTP request to an HTTPS server.\n', 'tls-expected'],
  [503, said('Loading model', { type: 'unavailable_error' }), 'loading'],
  [503, '{"error":"Model is currently loading","estimated_time":20}', 'loading'],
  [500, '{"error":"model requires more system memory (5.6 GiB) than is available (2.0 GiB)"}', 'out-of-memory'],
  [500, said('CUDA out of memory. Tried to allocate 2.00 GiB'), 'out-of-memory'],
  [
    400,
    said('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    'no-tool-parser',
  ],
  [500, said('tools param requires --jinja flag'), 'no-tool-parser'],
  [400, '{"error":"registry.ollama.ai/library/x does not support tools"}', 'no-tool-parser'],
  [400, said('As of transformers v4.44, default chat template is no longer allowed'), 'no-chat-template'],
  [400, said("Unsupported parameter: 'max_tokens' is not supported with this model."), 'refuses-parameter'],
  [
    422,
    '{"detail":[{"type":"extra_forbidden","loc":["body","top_k"],"msg":"Extra inputs are not permitted"}]}',
    'refuses-parameter',
  ],
  [429, said('Rate limit reached'), 'rate-limited'],
  [503, '', 'full'],
  [500, said('boom'), 'server-error'],
];

describe('the cause that an engine’s error names', () => {
  it.each(rows)('%i %s: %s', (status, body, cause) => {
    expect(causeOf({ kind: 'status', status, detail: '', ...chatErrors.read(status, body) })).toBe(cause);
  });
});
