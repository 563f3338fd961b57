import { z } from 'zod';
import type { ReasoningAsk, ReasoningEffort, TraceForm } from '../../core/request.ts';

const level = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
type Level = z.infer<typeof level>;

export const reasoningFields = {
  reasoning: z
    .object({
      effort: level.nullish(),
      summary: z.string().nullish(),
      // The earlier name of `summary`.
      generate_summary: z.string().nullish(),
    })
    .nullish(),
};

type ReasoningBody = z.infer<z.ZodObject<typeof reasoningFields>>;

const efforts: Readonly<Record<Exclude<Level, 'none'>, ReasoningEffort>> = {
  // The lowest level of the public wire format that still reasons.
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
  max: 'max',
};

/**
 * Reads the reasoning that a body asks for. Returns undefined when it names no effort, which means the same as on the chat surface: on,
 * at the highest setting (docs/reference/api.md §4.1.1).
 */
export function readReasoning({ reasoning }: ReasoningBody): ReasoningAsk | undefined {
  const effort = reasoning?.effort;
  if (effort === undefined || effort === null) return undefined;
  return effort === 'none' ? { enabled: false } : { enabled: true, effort: efforts[effort] };
}

/** Reads the form in which the caller wants the trace. No model writes a summary, so whoever asks for one gets the trace itself in its place. */
export function readTraceForm({ reasoning }: ReasoningBody, include: ReadonlySet<string>): TraceForm | undefined {
  const summary = reasoning?.summary ?? reasoning?.generate_summary;
  const asSummary = summary !== undefined && summary !== null && summary !== 'none';
  const sealed = include.has('reasoning.encrypted_content');
  return asSummary || sealed ? { asSummary, sealed } : undefined;
}
