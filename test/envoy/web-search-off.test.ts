import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { canary, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const engine = await forFile(startProgrammableEngine({ behaviour: { reasoning: 'never', words: 4 } }));
const weir = await forFile(startWeir({ engines: [engine] }));
const client = new Anthropic({ apiKey: weir.key, baseURL: weir.origin, maxRetries: 0, fetch: weir.fetch });

const user = { role: 'user', content: `${canary} hi` } as const;

describe('where the web is not searched', () => {
  test('the tool is refused, and nothing is billed', async () => {
    const tools: Anthropic.ToolUnion[] = [{ type: 'web_search_20250305', name: 'web_search' }];
    const asked = client.messages.create({ model: 'test/model', max_tokens: 50, messages: [user], tools });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error', code: 'web_search_unavailable' } },
    });
    expect(await weir.ledger()).toEqual([]);
  });

  test('what another deployment found cannot be read', async () => {
    const found = { type: 'web_search_result', url: 'https://a.example/', title: 'A', encrypted_content: 'AAAA' };
    const content = [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [found] },
    ] as unknown as Anthropic.ContentBlockParam[];
    const messages: Anthropic.MessageParam[] = [user, { role: 'assistant', content }, user];
    await expect(client.messages.create({ model: 'test/model', max_tokens: 50, messages })).rejects.toThrow(
      /web_search_unavailable|messages\[1\]\.content\[1\]\.content\[0\]\.encrypted_content: cannot be read/,
    );
  });

  test('no price of it is published', async () => {
    const text = await (await weir.fetch(`${weir.baseUrl}/models`)).text();
    expect(text).not.toContain('web_search');
  });
});

describe('the chat surface', () => {
  test('has no search: its options are named as inert, and its server tool is refused by the field', async () => {
    const body = { model: 'test/model', messages: [user], max_tokens: 20 };
    const inert = await weir.chat({ ...body, web_search_options: {} });
    expect([inert.status, inert.headers.get('x-service-inert-params')]).toEqual([200, 'web_search_options']);
    await inert.text();
    const refused = await weir.chat({ ...body, tools: [{ type: 'web_search_20250305', name: 'web_search' }] });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('tools[0].type');
  });

  test('knows a function called web_search as any other', async () => {
    const tools = [{ type: 'function', function: { name: 'web_search', parameters: { type: 'object' } } }];
    const messages = [{ role: 'user', content: `${canary} web_search` }];
    const answer = await weir.chat({ model: 'test/model', messages, tools });
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { name: 'web_search' } }] }, finish_reason: 'tool_calls' }],
    });
  });
});
