/** Images that engines would fetch come from the hosts that the operator allows, on both surfaces. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ProgrammableEngine, startProgrammableEngine } from '../programmable-engine/engine.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';

let engine: ProgrammableEngine;
/** With a list of hosts, and as it is unless told. */
let limited: Weir;
let open: Weir;

beforeAll(async () => {
  engine = await startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never', words: 3 } });
  const model = modelManifest('test/sees', ['first'], '  inputModalities: [text, image]');
  const manifests = { 'catalog.yaml': backendManifest('first', engine) + model };
  const env = { WEIR_IMAGE_HOSTS: 'images.example.com,*.example.org' };
  [limited, open] = await Promise.all([
    startWeir({ engines: [engine], manifests, env, unlimited: true }),
    startWeir({ engines: [engine], manifests, unlimited: true }),
  ]);
});
beforeEach(() => engine.reset());
afterAll(async () => {
  await Promise.all([limited.close(), open.close()]);
  await engine.close();
});

const text = { type: 'text', text: 'What is this?' };
const model = 'test/sees';

/** `filler`: makes the body too large to be read on the event loop. */
const chat = (weir: Weir, url: string, filler = ''): Promise<Response> =>
  weir.chat({
    ...{ model, messages: [{ role: 'user', content: [text, { type: 'image_url', image_url: { url } }] }] },
    filler,
  });
const messages = (weir: Weir, url: string, filler = ''): Promise<Response> => {
  const image = { type: 'image', source: { type: 'url', url } };
  return weir.messages({ model, max_tokens: 50, filler, messages: [{ role: 'user', content: [image, text] }] });
};
const large = 'x'.repeat(200_000);
const ways = [
  ['chat', chat, '', 'messages[0].content[1].image_url.url'],
  ['chat, a large body', chat, large, 'messages[0].content[1].image_url.url'],
  ['messages', messages, '', 'messages[0].content[0].source.url'],
  ['messages, a large body', messages, large, 'messages[0].content[0].source.url'],
] as const;

const inside = 'http://169.254.169.254/latest/meta-data';
const addresses = [inside, 'https://images.example.com@evil.example/', 'https://images.example.com\\@evil.example/'];

test.each(ways)('%s: an image of another host is refused by its field, and no engine hears of it', async (...way) => {
  const [, ask, filler, field] = way;
  for (const address of addresses) {
    const response = await ask(limited, address, filler);
    const { error } = (await response.json()) as { readonly error: Readonly<Record<string, string>> };
    expect([response.status, error['type'], error['code']]).toEqual([400, 'invalid_request_error', undefined]);
    expect(error['message']?.split(': ')[0]).toBe(field);
  }
  expect(engine.requests()).toEqual([]);
});

test.each(ways)('%s: an image of a host that is allowed reaches the engine as it was sent', async (_, ask, filler) => {
  for (const url of ['https://images.example.com/a.png?b=%41', 'http://a.example.org/b.png']) {
    expect((await ask(limited, url, filler)).status).toBe(200);
    expect(JSON.stringify(engine.requests().at(-1)?.body)).toContain(url);
  }
});

test('an image that was sent as data reaches the engine', async () => {
  const data = 'data:image/png;base64,iVBORw0KGgo=';
  expect((await chat(limited, data)).status).toBe(200);
  expect(JSON.stringify(engine.requests()[0]?.body)).toContain(data);
});

test('unless told, any address reaches the engine: the twin of the above', async () => {
  for (const ask of [chat, messages]) expect((await ask(open, inside)).status).toBe(200);
  expect(engine.requests().map(({ body }) => JSON.stringify(body).includes(inside))).toEqual([true, true]);
});
