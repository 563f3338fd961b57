/** An engine fails in each way of the table of causes, and repeats the prompt wherever it can. */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { FakeCall } from '../../../test/support/fake-upstream.ts';
import { ask, begin, expectClean, head, settle } from '../../../test/support/pipeline-run.ts';
import { type Cause, causes } from '../../core/cause.ts';
import { createStories } from '../../telemetry/stories/stories.ts';

const canary = 'CANARY-prompt';
const escaped = canary.replaceAll(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** Repeats of the prompt, as engines write them. */
const echo = [canary, canary.toLowerCase(), escaped, canary.replaceAll(/./g, '$& '), `{'content': '${canary}'}`].join(
  ' / ',
);

type Provoke = (engine: FakeCall) => void;

/** An error in the form of OpenAI, which repeats the prompt in each field. */
function error(status: number, message: string, code?: string): Provoke {
  return (engine) => {
    engine.head(status, { 'content-type': 'application/json' });
    const said = `${echo} ${message} ${echo}`;
    engine.data(JSON.stringify({ error: { message: said, code: code ?? echo, type: echo, param: echo }, input: echo }));
    engine.end();
  };
}
const unreached =
  (cause: Cause): Provoke =>
  (engine) =>
    engine.fail('Envoy UF', cause);
const answer =
  (type: string, body: string): Provoke =>
  (engine) =>
    engine.answer(type, body);

/** No text of an engine ends these attempts with a status: they have a test each in dispatch. */
const withoutText = ['silent', 'wrong-structure', 'cannot-continue'] as const;

const provocations: Readonly<Record<Exclude<Cause, (typeof withoutText)[number]>, Provoke>> = {
  'connection-refused': unreached('connection-refused'),
  'no-such-host': unreached('no-such-host'),
  'connect-timeout': unreached('connect-timeout'),
  'no-route': unreached('no-route'),
  'fails-health-check': (engine) => engine.fail('Envoy UH'),
  'not-in-envoy': (engine) => engine.fail('Envoy NC'),
  'connect-failed': (engine) => engine.fail('Envoy UF'),
  'certificate-expired': unreached('certificate-expired'),
  'certificate-unknown-authority': unreached('certificate-unknown-authority'),
  'certificate-other-name': unreached('certificate-other-name'),
  'certificate-required': unreached('certificate-required'),
  'no-tls': unreached('no-tls'),
  'tls-expected': error(400, 'Client sent an HTTP request to an HTTPS server.'),
  'tls-failed': unreached('tls-failed'),
  'credential-refused': error(401, 'Wrong key'),
  'no-quota': error(402, 'Payment required'),
  'no-such-model': error(404, 'No', 'model_not_found'),
  'no-such-path': error(404, 'Not found'),
  redirects: (engine) => {
    engine.head(302, { location: `https://example.com/${canary}` });
    engine.data(echo);
    engine.end();
  },
  'not-an-api': (engine) => {
    engine.head(502, { 'content-type': 'text/html' });
    engine.data(`<html><head><title>Bad Gateway ${echo}</title></head><body>${echo}</body></html>`);
    engine.end();
  },
  'refuses-parameter': error(422, 'Extra inputs are not permitted'),
  'no-tool-parser': error(500, 'tools param requires --jinja flag'),
  'batch-too-small': error(500, 'input (600 tokens) is too large to process. increase the physical batch size'),
  'too-many-inputs': error(422, 'batch size 33 > maximum allowed batch size 32'),
  'no-chat-template': error(500, 'must provide a chat template'),
  misconfigured: error(500, 'needs --some-option'),
  'refuses-request': error(400, 'No'),
  'context-length': error(400, 'No', 'context_length_exceeded'),
  'content-policy': error(400, 'No', 'content_filter'),
  loading: error(503, 'Loading model'),
  'rate-limited': error(429, 'Slow down'),
  full: error(503, 'No'),
  'out-of-memory': error(500, 'CUDA out of memory'),
  'server-error': error(500, 'Broken'),
  'breaks-off': (engine) => {
    head(engine);
    engine.data(': nothing\n\n');
    engine.fail('Envoy UC');
  },
  unreadable: answer('application/json', `{"${echo}`),
};

/** Any run of 12 characters of the prompt, whatever its case. */
const content = /canary-promp|anary-prompt/i;

describe('what an engine says with its failure', () => {
  it.each(Object.entries(provocations))('has nothing of the prompt: %s', async (cause, provoke) => {
    const stories = createStories({ process: 'p' });
    const run = begin({ stories });
    const stream = cause === 'breaks-off';
    const exchange = run.send({ body: JSON.stringify({ ...ask, stream }) });
    for (const index of [0, 1]) {
      const engine = await run.upstream.called(index);
      expect(String(engine.call.body)).toContain(canary);
      provoke(engine);
      await settle();
    }
    await exchange.answered;
    const [story] = stories.find(run.store.outcomes[0]?.requestId ?? '');
    const faults = story?.attempts?.map(({ fault }) => fault) ?? [];
    expect(faults.map((fault) => fault?.cause)).toEqual([cause, cause]);
    const seen = inspect([story, run.store.outcomes, run.faults, exchange.headers(), exchange.text()], { depth: 9 });
    expect(seen).not.toMatch(content);
    expect(seen.replaceAll(' ', '')).not.toMatch(content);
    // Callers get nothing of the sentence, and the ledger stores nothing of it.
    const said = faults.flatMap((fault) => fault?.said ?? []);
    for (const one of said) {
      expect(one).toMatch(/…|^code |^field /);
      expect(inspect([run.store.outcomes, exchange.headers(), exchange.text()], { depth: 9 })).not.toContain(one);
    }
    await expectClean(run, 1);
  });

  it('is shown without what it repeats: the twin without a repetition is shown whole', async () => {
    const stories = createStories({ process: 'p' });
    const run = begin({ stories });
    const exchange = run.send();
    error(500, 'Broken')(await run.upstream.called(0));
    const second = await run.upstream.called(1);
    second.head(500);
    second.data('{"error":"A CANARY of the engine’s own"}');
    second.end();
    await exchange.answered;
    const said = stories.find(run.store.outcomes[0]?.requestId ?? '')[0]?.attempts?.map(({ fault }) => fault?.said);
    expect(said).toEqual([expect.stringMatching(/^….* Broken …/), 'A CANARY of the engine’s own']);
  });

  it('is provoked for the whole table of causes', () => {
    expect([...Object.keys(provocations), ...withoutText].toSorted()).toEqual(Object.keys(causes).toSorted());
  });
});
