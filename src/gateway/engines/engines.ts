import {
  type Capabilities,
  type ContinuationMark,
  type InlineReasoning,
  type RequestTarget,
  tagSets,
} from '../../core/capability.ts';
import type { CapabilityOverrides, Route } from '../../core/catalog.ts';
import type { EngineName } from '../../core/engine-name.ts';
import { parametersOf } from '../../core/parameters.ts';
import type { PlannedRoute } from '../core/plan.ts';
import type { Engine } from './engine.ts';
import { openai, providers } from './hosted.ts';
import { selfHosted, vectorEngines } from './self-hosted.ts';

/** The values that a request passes to the engine's chat template, for programs that render the same template. */
export function templateArguments({ engine, reasoning }: RequestTarget): Readonly<Record<string, unknown>> {
  if (reasoning === undefined) return {};
  const { chat_template_kwargs: named, reasoning_effort: effort } = engines[engine].writeReasoning(reasoning);
  return {
    ...(typeof named === 'object' ? named : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
  };
}

export const engines: Readonly<Record<EngineName, Engine>> = { openai, ...selfHosted, ...providers, ...vectorEngines };

function continuationOf(given: CapabilityOverrides, table: ContinuationMark): ContinuationMark {
  if (given.continuation === false) return 'none';
  if (given.continuationMark !== undefined) return given.continuationMark;
  return given.continuation === true && table === 'none' ? 'trailing' : table;
}

const known = new WeakMap<Route, Capabilities>();

/** What a route can do: its engine's table, with the operator's overrides. */
export function capabilitiesOf(route: Route): Capabilities {
  return known.getOrInsertComputed(route, () => declaredCapabilities(route.backend.engine, route.capabilities));
}

/** An engine's table with an operator's overrides. */
export function declaredCapabilities(engine: EngineName, given: CapabilityOverrides): Capabilities {
  const table = engines[engine].capabilities;
  const { tools, streamedTools, responseFormats, streamedResponseFormats } = given;
  const { parameters, reasoning, conflicts, toolChoice, inlineReasoning } = given;
  return {
    ...table,
    tools: { json: tools ?? table.tools.json, stream: streamedTools ?? tools ?? table.tools.stream },
    responseFormats: {
      json: responseFormats ?? table.responseFormats.json,
      stream: streamedResponseFormats ?? responseFormats ?? table.responseFormats.stream,
    },
    toolChoice: toolChoice ?? table.toolChoice,
    parameters: parameters ?? parametersOf(engine),
    ...(conflicts === undefined ? {} : { conflicts }),
    reasoning: { ...table.reasoning, ...reasoning },
    ...(inlineReasoning === undefined ? {} : { inlineReasoning }),
    continuation: continuationOf(given, table.continuation),
  };
}

/** How to find reasoning in a route's text; undefined if there is none. */
export function inlineReasoningOf({ route, target }: PlannedRoute): InlineReasoning | undefined {
  const inline = capabilitiesOf(route).inlineReasoning;
  if (inline === undefined) return undefined;
  const own = (inline.pairs ?? []).map(({ open, close }) => ({ open: [open], close: [close] }));
  const tags = [...inline.tags.map((name) => tagSets[name]), ...own];
  if (tags.length === 0) return undefined;
  return {
    tags,
    // With reasoning switched off, the template closes the tag that it opens: the answer begins at once.
    implicitOpen: inline.implicitOpen && target.reasoning?.enabled !== false,
  };
}
