import { z } from 'zod';
import type { ReasoningAsk, ReasoningEffort } from '../../core/request.ts';

const efforts = {
  // The lowest level of the public wire format that still reasons.
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
  max: 'max',
} as const satisfies Readonly<Record<string, ReasoningEffort>>;

/** The levels of reasoning in the public wire formats. */
export const reasoningLevel = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);

export function askOfLevel(level: z.infer<typeof reasoningLevel>): ReasoningAsk {
  return level === 'none' ? { enabled: false } : { enabled: true, effort: efforts[level] };
}
