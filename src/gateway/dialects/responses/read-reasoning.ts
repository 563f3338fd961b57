import { z } from 'zod';
import type { ReasoningAsk, TraceForm } from '../../../core/request.ts';
import { askOfLevel, reasoningLevel } from '../reasoning-level.ts';

export const reasoningFields = {
  reasoning: z
    .object({
      effort: reasoningLevel.nullish(),
      summary: z.string().nullish(),
      // The earlier name of `summary`.
      generate_summary: z.string().nullish(),
    })
    .nullish(),
};

type ReasoningBody = z.infer<z.ZodObject<typeof reasoningFields>>;

/**
 * Reads the reasoning that a body asks for. Returns undefined when it names no effort, which means the same as on the chat surface: on,
 * at the highest setting (docs/reference/endpoints.md §4.1.1).
 */
export function readReasoning({ reasoning }: ReasoningBody): ReasoningAsk | undefined {
  const effort = reasoning?.effort;
  return effort === undefined || effort === null ? undefined : askOfLevel(effort);
}

/** Reads the form in which the caller wants the trace. No model writes a summary: a caller that asks for one gets the trace itself in its place. */
export function readTraceForm({ reasoning }: ReasoningBody, include: ReadonlySet<string>): TraceForm | undefined {
  const summary = reasoning?.summary ?? reasoning?.generate_summary;
  const asSummary = summary !== undefined && summary !== null && summary !== 'none';
  const sealed = include.has('reasoning.encrypted_content');
  return asSummary || sealed ? { asSummary, sealed } : undefined;
}
