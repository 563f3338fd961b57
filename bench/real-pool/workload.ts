import { type Chance, chanceFrom } from '../../test/support/chance.ts';
import { exponential } from '../pool/workloads.ts';

/** A message to send, after a pause. The request has all messages and answers of its session before it. */
export interface Turn {
  readonly pauseMs: number;
  readonly text: string;
}

/** Requests one after the other, each with the earlier ones and their answers in front of it. */
export interface Session {
  readonly name: string;
  readonly startMs: number;
  readonly system: string;
  readonly turns: readonly Turn[];
  /** Begins with the messages and answers of that session until this turn, and when this turn has its answer. */
  readonly parent: { readonly name: string; readonly turn: number } | undefined;
}

export interface WorkloadOptions {
  readonly seed: number;
  /** In front of all texts, so that caches hold nothing of an earlier run. */
  readonly mark: string;
  /** In this time the sessions begin, and the pauses between the turns are a tenth of it on average. */
  readonly spanMs: number;
}

const conversations = 40;
const conversationTurns = 8;
const agents = 10;
const agentTurns = 10;
const subAgentTurns = 4;
/** After this turn of its agent a sub-agent begins, with all that the agent has read until then. */
const leavesAfter = 4;
const letters = 'abcdefghijklmnopqrstuvwxyz     ';

/** Forty conversations of 8 turns on four system prompts, and ten agents of 10 turns, each with a sub-agent that leaves it half-way. */
export function makeWorkload({ seed, mark, spanMs }: WorkloadOptions): readonly Session[] {
  const chance = chanceFrom(seed);
  const text = (length: number): string => Array.from({ length }, () => letters[chance.below(letters.length)]).join('');
  const systems = Array.from({ length: 4 }, () => mark + text(1500));
  const tools = mark + text(3000);
  const turnsOf = (count: number, length: number, pauseMs: number): readonly Turn[] =>
    Array.from({ length: count }, (_, index) => ({
      pauseMs: index === 0 ? 0 : exponential(chance, pauseMs),
      text: text(around(chance, length)),
    }));
  const talks = Array.from({ length: conversations }, (_, index) => ({
    ...{ name: `conversation ${index}`, startMs: chance.next() * spanMs * 0.4, system: chance.pick(systems) },
    ...{ turns: turnsOf(conversationTurns, 350, spanMs / 12), parent: undefined },
  }));
  const works = Array.from({ length: agents }, (_, index) => {
    const agent = {
      ...{ name: `agent ${index}`, startMs: chance.next() * spanMs * 0.4, system: tools },
      ...{ turns: turnsOf(agentTurns, 450, spanMs / 20), parent: undefined },
    };
    const sub = {
      ...{ name: `sub-agent ${index}`, startMs: 0, system: tools, turns: turnsOf(subAgentTurns, 450, spanMs / 20) },
      parent: { name: agent.name, turn: leavesAfter },
    };
    return [agent, sub];
  });
  return [...talks, ...works.flat()];
}

const around = (chance: Chance, length: number): number => Math.round(length * (0.5 + chance.next()));
