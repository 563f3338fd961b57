import { expect } from 'vitest';
import { formatUsd, maxBalance, type Money, parseUsd } from '../../../src/core/money.ts';
import type { Identity } from '../../../src/core/identity.ts';
import { runWeir } from '../../support/run-weir.ts';
import type { TokenIssuer } from '../../support/token-issuer.ts';
import { modelManifest } from '../../support/weir.ts';

/** What a burst came to. */
export interface Burst {
  readonly passed: number;
  readonly refused: number;
  /** Of the workspace, after all of it was settled. */
  readonly balance: Money;
}

export interface DearBursts {
  /** What an answer to `body` costs, found by asking once with a workspace of its own. */
  readonly priceOf: (body: object) => Promise<Money>;
  /** Asks for the same answer 64 times at once, with a new workspace that has this credit. */
  readonly burst: (credit: Money, body: object) => Promise<Burst>;
  /** The same with tokens, on a budget of an identity or of one of its subjects. The balance is what is left of the budget. */
  readonly burstOfTokens: (each: Identity['each'], budget: Money, body: object) => Promise<Burst>;
  /** Asks so many times, a few at once, with a workspace that has room. */
  readonly teach: (times: number, body: object) => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** The manifest of a model whose tokens are dear: an answer of 300 of them costs 3 USD. */
export function dearManifest(id: string, backend: string): string {
  return modelManifest(id, [backend]).replace(
    /pricing: .*/,
    'pricing: {prompt: "0.000001", completion: "0.01", inputCacheRead: "0.000001"}',
  );
}

/** A request for an answer of some 300 tokens, not one of which comes before all of a burst have been admitted or refused. */
export const dearAsk = (model: string, words = 300, firstTokenDelayMs = 2000): object => ({
  ...{ model, reasoning_effort: 'none' },
  messages: [{ role: 'user', content: `Tell. [[demo ${JSON.stringify({ words, firstTokenDelayMs })}]]` }],
});

/** One for an answer that is as long and comes at once: how long answers are can be learned from it. */
export const dearLesson = (model: string): object => dearAsk(model, undefined, 0);

const atOnce = 64;

/** Bursts of dear requests against a gateway; `flags` and `env` tell the commands where its accounts are. */
export function dearBursts(gateway: {
  readonly ask: (key: string, body: object) => Promise<Answer>;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly issuer?: TokenIssuer;
}): DearBursts {
  const { ask, flags = [], env = {}, issuer } = gateway;
  let workspaces = 0;

  async function weir(...args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await runWeir([...args, '--json', ...flags], { env });
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout);
  }

  async function newWorkspace(credit: Money): Promise<{ readonly name: string; readonly key: string }> {
    const name = `burst-${(workspaces += 1)}`;
    await weir('workspace', 'create', name, '--credit', formatUsd(credit));
    const { key } = (await weir('key', 'create', '--workspace', name)) as { readonly key: string };
    return { name, key };
  }

  async function balanceOf(name: string): Promise<Money> {
    const all = (await weir('workspace', 'list')) as readonly { readonly name: string; readonly balance: string }[];
    const balance = parseUsd(all.find((each) => each.name === name)?.balance ?? '');
    if (balance === undefined) throw new Error(`no balance of ${name}`);
    return balance;
  }

  async function askAtOnce(key: string, body: object): Promise<Pick<Burst, 'passed' | 'refused'>> {
    const statuses = await Promise.all(Array.from({ length: atOnce }, async () => (await ask(key, body)).status));
    const [passed = 0, refused = 0] = [200, 402].map((status) => statuses.filter((each) => each === status).length);
    expect(passed + refused).toBe(atOnce);
    return { passed, refused };
  }

  let rich: Promise<{ readonly key: string }> | undefined;
  const askRich = async (body: object): Promise<Answer> => {
    rich ??= newWorkspace(maxBalance / 2n);
    const answer = await ask((await rich).key, body);
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
    return answer;
  };

  return {
    priceOf: async (body) => {
      const { usage } = JSON.parse((await askRich(body)).text) as { readonly usage: { readonly cost: number } };
      return BigInt(Math.round(usage.cost * 1e12));
    },
    burst: async (credit, body) => {
      const { name, key } = await newWorkspace(credit);
      return { ...(await askAtOnce(key, body)), balance: await balanceOf(name) };
    },
    burstOfTokens: async (each, budget, body) => {
      if (issuer === undefined) throw new Error('the gateway has no issuer');
      const credit = maxBalance / 2n;
      const { name } = await newWorkspace(credit);
      const limits = ['--each', each, '--budget', formatUsd(budget), '--period', 'month'];
      const match = ['--match', `claims.app == "${name}"`];
      const rules = ['--issuer', issuer.issuer, '--audience', 'weir', '--workspace', name, ...match];
      await weir('identity', 'create', name, ...rules, ...limits);
      const tokenOf = (sub: string): Promise<string> => issuer.token({ app: name, sub });
      const counts = await askAtOnce(await tokenOf('a'), body);
      const balance = (await balanceOf(name)) - credit + budget;
      // Another subject has a budget of its own, or the same one.
      const { status } = await ask(await tokenOf('b'), body);
      expect(status).toBe(each === 'subject' || balance > 0n ? 200 : 402);
      return { ...counts, balance };
    },
    teach: async (times, body) => {
      for (let asked = 0; asked < times; asked += 10) {
        await Promise.all(Array.from({ length: Math.min(10, times - asked) }, () => askRich(body)));
      }
    },
  };
}
