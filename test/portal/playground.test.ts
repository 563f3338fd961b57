// The playground as its readers use it: by keyboard, with all settings, two models, images, tools and their own key.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import type { ModelListObject } from '../../src/portal/api/catalog.ts';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import type { RequestDetailObject } from '../../src/portal/api/requests.ts';
import { adminApi } from './support/admin-api.ts';
import * as tabs from './support/browser.ts';
import { usualDimensions } from '../programmable-engine/vectors.ts';
import { forFile } from '../support/for-file.ts';

const gateway = inject('gateway');
const run = promisify(execFile);

const browser = await forFile(tabs.launchBrowser());
await adminApi('POST', '/workspaces', { name: 'play-team', credit: '5' });

const manifest = join(gateway.data, 'manifests-demo', 'vectors.yaml');
afterAll(() => rmSync(manifest));
writeFileSync(
  manifest,
  `apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: test-vectors}
spec:
  id: test/vectors
  kind: Embedding
  ownedBy: test
  added: "2026-06-01T00:00:00Z"
  contextLength: 8192
  embedding: {dimensions: ${usualDimensions}}
  pricing: {prompt: "0.000001"}
  routes: [{backend: programmable, upstreamModel: able}]
`,
);
const isListed = async (): Promise<boolean> =>
  (await adminApi<ModelListObject>('GET', '/models')).data.some(({ id, listed }) => id === 'test/vectors' && listed);

interface Sent {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly [field: string]: unknown;
}

/** The requests that the engine got and that have a text, the newest last. */
async function sentWith(text: string): Promise<readonly Sent[]> {
  const answer = await fetch(`${gateway.engine}/control/requests`);
  const recorded = (await answer.json()) as readonly { readonly body: Sent }[];
  return recorded.map(({ body }) => body).filter((body) => JSON.stringify(body).includes(text));
}

const address = (query: string): string => `/playground?workspace=play-team&${query}`;
const message = (page: Page) => page.getByLabel('Message');
const answerOf = (page: Page, model: string) => page.getByRole('region', { name: `Answer of ${model}` }).last();

/** The models are read, and no answer is coming in. */
async function untilReady(page: Page): Promise<void> {
  await expect.poll(() => page.getByRole('button', { name: 'Send', disabled: false }).count()).toBe(1);
}

async function ask(page: Page, text: string): Promise<void> {
  await untilReady(page);
  await message(page).fill(text);
  await message(page).press('Enter');
}
const openMore = (page: Page) => page.getByText('More', { exact: true }).click();
const factOf = (page: Page, model: string, name: string) =>
  answerOf(page, model).locator('dt', { hasText: name }).locator('+ dd');
const isDone = (page: Page, model: string) => answerOf(page, model).getByText('The answer is complete.').waitFor();

async function untilAnswers(page: Page, model: string, count: number): Promise<void> {
  await expect.poll(() => page.getByRole('region', { name: `Answer of ${model}` }).count()).toBe(count);
}

/** An image of one red pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const pixelUrl = `data:image/png;base64,${pixel.toString('base64')}`;

test('Enter sends and Shift + Enter breaks the line, and the next message can be typed at once', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  await untilReady(page);
  await message(page).focus();
  await page.keyboard.type('first line of two');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('second line');
  expect(await message(page).inputValue()).toBe('first line of two\nsecond line');
  expect(await sentWith('first line of two')).toEqual([]);
  await page.keyboard.press('Enter');
  await isDone(page, 'test/able');
  const [sent] = await sentWith('first line of two');
  expect(sent?.messages).toEqual([{ role: 'user', content: 'first line of two\nsecond line' }]);
  expect(await message(page).inputValue()).toBe('');
  await page.keyboard.type('and again');
  expect(await message(page).inputValue()).toBe('and again');
  expectQuiet();
  await page.context().close();
});

test('all settings arrive at the engine, calls of tools are shown, and the next message is their result', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  await page.getByLabel('System prompt').fill('Be short.');
  await openMore(page);
  await page.getByLabel('Max tokens').fill('77');
  await page.getByLabel('Temperature').fill('0.3');
  await page.getByLabel('Reasoning effort').selectOption('none');
  await page.getByLabel('Stop', { exact: true }).fill('END\n\\n\\n');
  await page.getByLabel('Tools').fill('[{');
  await ask(page, 'Ask look_up about rivers');
  await page.getByText('Not JSON:').waitFor();
  await tabs.expectAccessible(page);
  expect(await message(page).inputValue()).toBe('Ask look_up about rivers');
  expect(await sentWith('Ask look_up about rivers')).toEqual([]);
  const parameters = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] };
  const tools = [{ type: 'function', function: { name: 'look_up', parameters } }];
  await page.getByLabel('Tools').fill(JSON.stringify(tools));
  await message(page).press('Enter');
  await isDone(page, 'test/able');
  const [sent] = await sentWith('Ask look_up about rivers');
  expect(sent).toMatchObject({ max_tokens: 77, temperature: 0.3, stop: ['END', '\n\n'], tools });
  expect(sent?.messages[0]).toEqual({ role: 'system', content: 'Be short.' });
  const called = answerOf(page, 'test/able').getByRole('region', { name: 'Arguments of look_up' });
  expect(JSON.parse(await called.innerText())).toHaveProperty('topic');
  await tabs.expectAccessible(page);

  await untilReady(page);
  await page.getByLabel('Result of the calls').fill('Rivers flow down.');
  await page.getByLabel('Result of the calls').press('Enter');
  await untilAnswers(page, 'test/able', 2);
  await isDone(page, 'test/able');
  const [, next] = await sentWith('Ask look_up about rivers');
  const [, , calling, result] = next?.messages ?? [];
  expect(calling).toMatchObject({ role: 'assistant', tool_calls: [{ function: { name: 'look_up' } }] });
  expect(result).toMatchObject({ role: 'tool', content: 'Rivers flow down.' });
  await message(page).waitFor();

  await page.getByLabel('Tools').fill('');
  await page.getByLabel('Max tokens').fill('3');
  await ask(page, 'More, please');
  await page.getByText('Cut off: max tokens').waitFor();
  expectQuiet();
  await page.context().close();
});

test('settings that a model lacks are not shown, nor those that one of two lacks', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  const special = ['Temperature', 'Reasoning effort', 'Stop', 'Tools'];
  const shown = () =>
    Promise.all(special.map((label) => page.getByLabel(label, { exact: true }).count())).then((counts) =>
      special.filter((_, at) => counts[at] === 1),
    );
  const images = page.getByRole('button', { name: 'Add images' });
  await expect.poll(shown).toEqual(special);
  expect(await images.count()).toBe(1);
  await page.getByLabel('Model', { exact: true }).selectOption('test/plain');
  await expect.poll(shown).toEqual([]);
  expect(await images.count()).toBe(0);
  expect(await page.getByLabel('Max tokens').count()).toBe(1);
  await page.getByLabel('Model', { exact: true }).selectOption('demo/chat');
  await expect.poll(shown).toEqual(special);
  expect(await images.count()).toBe(0);
  await page.getByLabel('Beside it').selectOption('test/plain');
  await expect.poll(shown).toEqual([]);
  expectQuiet();
  await page.context().close();
});

test('images are added and removed, and go with the question', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  const picker = page.locator('input[type=file]');
  await picker.setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('no image') });
  await page.getByText('notes.txt is not a PNG, JPEG, WebP or GIF image.').waitFor();
  await picker.setInputFiles({ name: 'huge.png', mimeType: 'image/png', buffer: Buffer.alloc(11 * 1024 * 1024) });
  await page.getByText('The images of a conversation may have 10 MB.').waitFor();
  const image = { mimeType: 'image/png', buffer: pixel };
  await picker.setInputFiles([
    { name: 'wrong.png', ...image },
    { name: 'red.png', ...image },
  ]);
  await page.getByRole('button', { name: 'Remove wrong.png' }).press('Enter');
  await page.getByRole('button', { name: 'Remove wrong.png' }).waitFor({ state: 'detached' });
  await tabs.expectAccessible(page);
  await ask(page, 'Which colour is this?');
  await isDone(page, 'test/able');
  await page.getByRole('img', { name: 'red.png' }).waitFor();
  expect(await page.getByRole('button', { name: 'Remove red.png' }).count()).toBe(0);
  const [sent] = await sentWith('Which colour is this?');
  expect(sent?.messages[0]?.content).toEqual([
    { type: 'text', text: 'Which colour is this?' },
    { type: 'image_url', image_url: { url: pixelUrl } },
  ]);
  expectQuiet();
  await page.context().close();
});

for (const width of [1280, 390] as const) {
  test(`two models answer side by side, with first token, speed and cost, ${width} pixels wide`, async () => {
    const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'), { width });
    await page.getByLabel('Beside it').selectOption('demo/chat');
    await expect.poll(() => new URL(page.url()).searchParams.get('with')).toBe('demo/chat');
    await ask(page, `Compare in 60 words at ${width}`);
    for (const model of ['test/able', 'demo/chat']) {
      await isDone(page, model);
      await expect.poll(() => factOf(page, model, 'Time to first token').innerText()).toMatch(/\d (ms|s)$/);
      expect(await factOf(page, model, 'Cost').innerText()).toMatch(/\$0\.0\d+/);
      expect(await factOf(page, model, 'Output tokens').innerText()).toMatch(/^\d+$/);
    }
    expect(await factOf(page, 'demo/chat', 'Speed').innerText()).toMatch(/^[\d.,]+ tokens a second$/);
    // Names, texts and figures begin at the same height, although only one of them has reasoning.
    for (const part of ['h3', '.answer-text', 'dl']) {
      const boxes = await Promise.all(
        ['test/able', 'demo/chat'].map((model) => answerOf(page, model).locator(part).first().boundingBox()),
      );
      expect(Math.abs((boxes[0]?.y ?? 0) - (boxes[1]?.y ?? 0)) < 1, part).toBe(width === 1280);
    }
    await tabs.expectNoOverflow(page);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await tabs.expectAccessible(page);
      await tabs.screenshot(page, `playground-two-${width}-${scheme}`);
    }
    // Each model goes on with its own answer.
    const said = await answerOf(page, 'test/able').locator('.answer-text').innerText();
    await ask(page, `Go on at ${width}`);
    await untilAnswers(page, 'test/able', 2);
    await isDone(page, 'test/able');
    const [sent] = await sentWith(`Go on at ${width}`);
    expect(sent?.messages.map(({ content }) => content)).toEqual([
      `Compare in 60 words at ${width}`,
      said,
      `Go on at ${width}`,
    ]);
    expectQuiet();
    await page.context().close();
  });
}

test('an answer that is stopped has the cost of its row, and is asked for once more in its place', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=demo/chat'));
  await ask(page, 'Tell me about weirs in 20000 words.');
  await expect.poll(() => answerOf(page, 'demo/chat').locator('.answer-text').innerText()).toMatch(/\w{3}/);
  const sent = page.waitForRequest((request) => request.url().includes('/requests/'));
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped. Weir bills the delivered part.').waitFor();
  await expect.poll(() => factOf(page, 'demo/chat', 'Cost').innerText()).toMatch(/^\$0\.0*[1-9]/);
  expect(await factOf(page, 'demo/chat', 'Time to first token').innerText()).toMatch(/\d (ms|s)$/);
  const { request } = await adminApi<RequestDetailObject>('GET', new URL((await sent).url()).pathname.slice(7));
  expect(request).toMatchObject({ outcome: 'cancelled', model: 'demo/chat' });
  expect(Number(request?.cost)).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Retry demo/chat' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Stopped. Weir bills the delivered part.').waitFor();
  await untilAnswers(page, 'demo/chat', 1);
  expectQuiet();
  await page.context().close();
});

test('the composer stays in view of a long conversation, and a new question scrolls into view', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  for (let count = 1; count <= 4; count += 1) {
    await ask(page, `Question ${count} in 200 words`);
    await untilAnswers(page, 'test/able', count);
    await isDone(page, 'test/able');
  }
  await ask(page, 'The last question');
  await expect.poll(() => isInView(page.getByText('The last question'))).toBe(true);
  await page.mouse.move(400, 300);
  await page.mouse.wheel(0, -10_000);
  await expect.poll(() => page.evaluate('scrollY')).toBe(0);
  expect(await isInView(message(page))).toBe(true);
  expect(await isInView(page.getByRole('heading', { name: 'Settings' }))).toBe(true);
  expectQuiet();
  await page.context().close();
});

async function isInView(of: Locator): Promise<boolean> {
  const box = await of.last().boundingBox();
  return box !== null && box.y >= 0 && box.y + box.height <= 800;
}

for (const width of [1280, 390] as const) {
  test(`an embedding model shows a vector, the nearest text and the cost, ${width} pixels wide`, async () => {
    await expect.poll(isListed).toBe(true);
    const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/vectors'), { width });
    await page.getByLabel('Text', { exact: true }).fill('a weir in a river');
    await page.getByLabel('Compare with (third)').fill('a weir in a river');
    await page.getByRole('button', { name: 'Make vectors' }).click();
    const shown = page.getByRole('region', { name: 'Vector of test/vectors' });
    await expect.poll(() => shown.getByRole('listitem').first().innerText()).toBe('a weir in a river cosine 1.000');
    await expect
      .poll(() => shown.locator('dt', { hasText: 'Cost' }).locator('+ dd').innerText())
      .toMatch(/^\$0\.0*[1-9]/);
    await tabs.expectNoOverflow(page);
    await tabs.expectAccessible(page);
    await tabs.screenshot(page, `playground-vectors-${width}`);
    expectQuiet();
    await page.context().close();
  });
}

test('the code of a question runs, and sends what the page sends', async () => {
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'));
  const awkward = 'It\'s "quoted", costs $HOME `date`, \\ and ends: code';
  const image = { name: "it's red.png", mimeType: 'image/png', buffer: pixel };
  await page.locator('input[type=file]').setInputFiles(image);
  await page.getByRole('button', { name: "Remove it's red.png" }).waitFor();
  await openMore(page);
  await page.getByLabel('Stop', { exact: true }).fill('END');
  await page.getByLabel('Tools').fill('[{"type": "function", "function": {"name": "look_up", "strict": true}}]');
  await message(page).fill(awkward);
  await page.getByRole('button', { name: 'Show as code' }).press('Enter');
  const folder = mkdtempSync(join(tmpdir(), 'weir-code-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, image.name), pixel);
  const code: Record<string, string> = {};
  for (const name of ['curl', 'Python', 'Node']) {
    await page.getByRole('tab', { name }).press('Enter');
    code[name] = await page.getByRole('region', { name: `${name}, test/able` }).innerText();
  }
  await tabs.expectAccessible(page);
  await tabs.screenshot(page, 'playground-code');
  await page.keyboard.press('Escape');
  await untilReady(page);
  await message(page).press('Enter');
  await isDone(page, 'test/able');

  const env = { ...process.env, WEIR_KEY: gateway.key };
  const curl = await run('bash', ['-c', code['curl'] ?? ''], { cwd: folder, env });
  expect(JSON.parse(curl.stdout)).toHaveProperty('choices');
  writeFileSync(join(folder, 'ask.mjs'), inRepository(code['Node'] ?? ''));
  await run(process.execPath, ['ask.mjs'], { cwd: folder, env });
  // The package of the language is replaced by one that prints what it is told.
  writeFileSync(join(folder, 'openai.py'), printingOpenai);
  writeFileSync(join(folder, 'ask.py'), code['Python'] ?? '');
  const python = await run('python3', ['ask.py'], { cwd: folder, env });

  const [byPage, byCurl, byNode, ...more] = await sentWith('ends: code');
  expect(more).toEqual([]);
  const content = [
    { type: 'text', text: awkward },
    { type: 'image_url', image_url: { url: pixelUrl } },
  ];
  for (const sent of [byPage, byCurl, byNode, JSON.parse(python.stdout) as Sent]) {
    expect(sent?.messages).toEqual([{ role: 'user', content }]);
    expect([sent?.['stop'], sent?.['tools']]).toEqual([byPage?.['stop'], byPage?.['tools']]);
  }
  expectQuiet();
  await page.context().close();
});

/** Lets a program outside the repository import its packages. */
const inRepository = (program: string): string =>
  program.replace("'openai'", JSON.stringify(import.meta.resolve('openai')));

const printingOpenai = `import json
class OpenAI:
    def __init__(self, base_url, api_key):
        self.chat = self.completions = self
    def create(self, **sent):
        print(json.dumps(sent))
        self.choices = [self]
        self.message = ""
        return self
`;

test('a question is paid with another key, whose text stays out of the page', async () => {
  const { key, id } = await adminApi<CreatedKeyObject>('POST', '/workspaces/play-team/keys', { name: 'pasted' });
  const { page, expectQuiet } = await tabs.openSignedIn(browser, address('model=test/able'), { expected: [401] });
  await page.getByLabel('Key', { exact: true }).selectOption('Another key');
  await page.getByLabel('API key').fill('sk-weir-wrong');
  await ask(page, 'With a wrong key');
  await answerOf(page, 'test/able').getByRole('alert').waitFor();
  // The session goes on.
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Playground');
  await page.getByLabel('API key').fill(key);
  await ask(page, 'With the right key');
  await untilAnswers(page, 'test/able', 2);
  await isDone(page, 'test/able');
  await tabs.expectAccessible(page);
  expect(await page.content()).not.toContain(key);
  const paid = async () =>
    (await adminApi<{ readonly data: readonly unknown[] }>('GET', `/requests?key=${id}`)).data.length;
  await expect.poll(paid).toBe(1);
  await page.reload();
  await tabs.heading(page);
  expect(await page.getByLabel('API key').count()).toBe(0);
  expectQuiet();
  await page.context().close();
});
