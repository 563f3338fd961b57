import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { chanceFrom } from '../../test/support/chance.ts';
import type { Load, Session, SessionRequest } from './request.ts';
import { alone, createTextMaker, openLoad, poisson, type Text, type TextMaker } from './workloads.ts';

const conversationRow = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number()]);
const agentRow = z.tuple([z.number(), z.number(), z.number(), z.number(), z.number(), z.number()]);
const agentSession = z.object({
  block: z.number(),
  tools: z.number(),
  system: z.number(),
  requests: z.array(agentRow),
});
type AgentSession = z.infer<typeof agentSession>;

const read = (name: string): unknown => JSON.parse(readFileSync(join(import.meta.dirname, 'traces', name), 'utf8'));
let conversations: readonly z.infer<typeof conversationRow>[] | undefined;
let agents: readonly AgentSession[] | undefined;

/** Longer answers and prompts than an engine of the simulation has room for are cut. */
const mostTokens = 160_000;
const conversationBlock = 512;
/** The caches fill in the first quarter of a trace. */
const warmUpParts = 4;

/** Mooncake's conversations, so many times as fast. Another seed begins at another request. */
export function conversationTrace(rate: number, seed: number): Load {
  conversations ??= z.array(conversationRow).parse(read('conversations.json'));
  const chance = chanceFrom(seed);
  const maker = createTextMaker(conversationBlock);
  const texts: Text[] = [];
  const roots: number[] = [];
  const startMs: number[] = [];
  // Requests of one moment of the trace come one after the other.
  const sessions = conversations.map(([ms, input, output, from, shared], index) => {
    const prompt = Math.min(input, mostTokens);
    const text = maker.text(from < 0 ? [] : texts[from]?.blocks(shared * conversationBlock));
    texts.push(text);
    const root = from < 0 || shared <= 1 ? index : (roots[from] ?? index);
    roots.push(root);
    startMs.push((ms + chance.next() * 3000) / rate);
    return alone(maker.request(text, { prompt, output }, root));
  });
  return openLoad({ sessions, startMs, blockTokens: conversationBlock, parts: warmUpParts });
}

/** People and tools pause for hours; the simulation waits no longer than this. */
const mostPauseMs = 10_000;
const agentBlock = 256;
/** A session ends before its first prompt that is longer. */
const mostAgentTokens = 100_000;
const mostAgentRequests = 40;

const agentSeconds = 600;

/** Sessions of coding agents, so many of them beginning in a second. */
export function agentSessions(rate: number, seed: number): Load {
  agents ??= z.array(agentSession).parse(read('agents.json'));
  const chance = chanceFrom(seed);
  const maker = createTextMaker(agentBlock);
  const tools = new Map<string, readonly number[]>();
  const sessions = Array.from(
    { length: Math.max(1, Math.round((rate * agentSeconds) / agents.length)) },
    () => agents ?? [],
  )
    .flat()
    .toSorted(() => chance.next() - 0.5)
    .map((session, index) => agentRequests(session, { maker, tools, index }));
  const startMs = poisson(chance, rate, sessions.length);
  return openLoad({ sessions, startMs, blockTokens: agentBlock, parts: warmUpParts });
}

function agentRequests(
  { block, tools: toolTokens, system, requests }: AgentSession,
  {
    maker,
    tools,
    index,
  }: { readonly maker: TextMaker; readonly tools: Map<string, readonly number[]>; readonly index: number },
): Session {
  const key = `${toolTokens} ${system}`;
  const beginning = tools.get(key) ?? maker.text().blocks(toolTokens + system);
  tools.set(key, beginning);
  const texts: Text[] = [];
  const roots: number[] = [];
  const tooLong = requests.findIndex(([, input]) => input > mostAgentTokens);
  const kept = requests.slice(0, Math.min(mostAgentRequests, tooLong < 0 ? requests.length : Math.max(1, tooLong)));
  return {
    requests: kept.map(([at, input, output, from, shared], request): SessionRequest => {
      const prompt = Math.min(input, mostTokens);
      const text = maker.text(from < 0 ? (request === 0 ? beginning : []) : texts[from]?.blocks(shared * block));
      texts.push(text);
      roots.push(from < 0 ? index * 1000 + request : (roots[from] ?? 0));
      const before = from < 0 ? (requests[request - 1]?.[0] ?? 0) : (requests[from]?.[0] ?? 0);
      return {
        request: maker.request(text, { prompt, output: Math.min(output, 2000) }, roots[request] ?? 0),
        atMs: 0,
        after: request === 0 ? undefined : from < 0 ? request - 1 : from,
        pauseMs: Math.min(mostPauseMs, Math.max(0, at - before) * 1000),
      };
    }),
  };
}
