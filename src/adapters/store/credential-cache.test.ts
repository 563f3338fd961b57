import { describe, expect, it } from 'vitest';
import type { Credential } from '../../core/account.ts';
import { createCredentialCache } from './credential-cache.ts';

function credential(name: string, workspace = 'ws'): Credential {
  return {
    key: { id: name, workspaceId: workspace, status: 'active', rate: 1, burst: 1 },
    workspace: { id: workspace, name: workspace, status: 'active', balance: 10n, maxInFlight: 1 },
  };
}

describe('the credential cache', () => {
  it('tells what it knows from what it knows to be absent and what it does not know', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a'));
    cache.put('b', undefined);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([credential('a'), 'absent', undefined]);
  });

  it('shows the new balance for every key of the workspace', () => {
    const cache = createCredentialCache(10);
    for (const name of ['a', 'b']) cache.put(name, credential(name));
    cache.put('c', credential('c', 'other'));
    cache.setBalance('ws', 3n);
    cache.setBalance('unknown', 4n);
    const balances = ['a', 'b', 'c'].map((hash) => {
      const found = cache.get(hash);
      return typeof found === 'object' ? found.workspace.balance : found;
    });
    expect(balances).toEqual([3n, 3n, 10n]);
  });

  it('forgets everything when told so', () => {
    const cache = createCredentialCache(10);
    cache.put('a', credential('a'));
    cache.put('b', undefined);
    cache.clear();
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined]);
  });

  it('stays within its size, the oldest first, and strangers do not push customers out', () => {
    const cache = createCredentialCache(3);
    for (const name of ['a', 'b', 'c', 'd']) cache.put(name, credential(name, `ws-${name}`));
    for (let stranger = 0; stranger < 100; stranger += 1) cache.put(`stranger-${stranger}`, undefined);
    const known = ['a', 'b', 'c', 'd', 'stranger-0', 'stranger-96', 'stranger-97', 'stranger-99'].filter((hash) =>
      cache.get(hash),
    );
    expect(known).toEqual(['b', 'c', 'd', 'stranger-97', 'stranger-99']);
  });

  it('loses nobody to a repeated look-up of the same key', () => {
    const cache = createCredentialCache(2);
    for (const name of ['a', 'b', 'b', 'b']) cache.put(name, credential(name));
    expect(cache.get('a')).toEqual(credential('a'));
  });
});
