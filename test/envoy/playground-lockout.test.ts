import { afterEach, expect, test } from 'vitest';
import { removeStarts, start } from '../support/start.ts';

afterEach(removeStarts);

/** More failed authentications than an address may have before it is blocked. */
const many = 32;

test('a playground whose key is revoked again and again blocks nobody at the address of the portal; wrong keys do', async () => {
  const gateway = await start([], { portal: true });
  const [, origin = '', token = ''] =
    /^portal:\s+(http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)$/m.exec(gateway.stdout()) ?? [];
  const [, key = ''] = /^key: +(\S+)$/m.exec(gateway.stdout()) ?? [];
  const headers = { authorization: `Bearer ${decodeURIComponent(token)}`, 'content-type': 'application/json' };
  const api = (path: string, init: RequestInit = {}) => fetch(`${origin}/api/v1${path}`, { ...init, headers });
  const body = JSON.stringify({ model: 'demo/chat', messages: [{ role: 'user', content: 'Hello!' }] });
  const { data } = (await (await api('/workspaces')).json()) as { readonly data: readonly { readonly id: string }[] };
  const play = async (): Promise<number> => {
    const answer = await api(`/playground/chat?workspace=${data[0]?.id}`, { method: 'POST', body });
    await answer.text();
    return answer.status;
  };
  const call = async (with_: string): Promise<number> => {
    const answer = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${with_}`, 'content-type': 'application/json' },
      body,
    });
    await answer.text();
    return answer.status;
  };
  /** The key that the playground has made last. The portal writes its own changes to the trail at any time. */
  const newest = async (): Promise<string> => {
    const { data: entries } = (await (await api('/audit?action=key.create&limit=1')).json()) as {
      readonly data: readonly { readonly object: string }[];
    };
    return entries[0]?.object ?? '';
  };

  expect(await play()).toBe(200);
  for (let round = 0; round < many; round += 1) {
    const revoked = await api(`/keys/${await newest()}/revoke`, { method: 'POST', body: '{}' });
    expect(revoked.status, await revoked.text()).toBeLessThan(300);
    const asked = await play();
    // Its own person may have to wait; the playground is never sent a dead key for long.
    expect([200, 429]).toContain(asked);
    if (asked === 429) break;
  }
  expect(await call(key)).toBe(200);

  // The twin: what does not prove that the portal sent it counts against the address.
  const wrong = `${key.slice(0, -8)}00000000`;
  for (let round = 0; round < many; round += 1) await call(wrong);
  expect(await call(key)).toBe(429);
});
