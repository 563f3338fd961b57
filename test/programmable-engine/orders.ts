import { type Behaviour, type BehaviourInput, parseBehaviour } from './behaviour.ts';
import { fingerprint } from './chance.ts';
import type { ChatMessage } from './chat-message.ts';
import { objectOr } from './json-value.ts';

/** What the engine has been told, by its operator and by the request itself, and to whom it still applies. */
export interface Orders {
  /** What holds from now on; with `times`, on top of that for the next so many requests. Throws a DirectiveError. */
  readonly give: (input: unknown) => void;
  /** What holds now, without taking anything from a count. */
  readonly standing: () => Behaviour;
  /** What holds for this chat request; the message's directives win over the engine's. Throws a DirectiveError. */
  readonly takeFor: (messages: readonly ChatMessage[], inBody: unknown) => Behaviour;
  readonly revoke: () => void;
}

export function createOrders(engineName: string, initial: BehaviourInput): Orders {
  let lasting = parseBehaviour(initial);
  let passing: Behaviour | undefined;
  let left = 0;
  const seen = new Map<string, number>();

  const ours = (behaviour: Behaviour): Behaviour =>
    behaviour.on === undefined || behaviour.on.includes(engineName) ? behaviour : {};

  return {
    give: (input) => {
      const behaviour = parseBehaviour(input);
      if (behaviour.times === undefined) {
        lasting = behaviour;
        passing = undefined;
      } else {
        passing = behaviour;
        left = behaviour.times;
      }
    },
    standing: () => ours({ ...lasting, ...passing }),
    takeFor: (messages, inBody) => {
      const engine = ours({ ...lasting, ...passing });
      if (passing !== undefined) {
        left -= 1;
        if (left <= 0) passing = undefined;
      }
      const lastAt = messages.findLastIndex((message) => message.role === 'user');
      const last = messages[lastAt];
      const asked = ours(parseBehaviour({ ...objectOr(inBody), ...last?.asked }));
      if (asked.times === undefined) return { ...engine, ...asked };
      // A partial answer to be continued does not make it another conversation.
      const said = messages.slice(0, lastAt + 1).map((message) => message.text);
      const print = fingerprint([JSON.stringify(last?.asked), ...said]);
      const before = seen.get(print) ?? 0;
      if (seen.size > 10_000) seen.clear();
      seen.set(print, before + 1);
      return before < asked.times ? { ...engine, ...asked } : engine;
    },
    revoke: () => {
      lasting = parseBehaviour(initial);
      passing = undefined;
      seen.clear();
    },
  };
}
