import type { Behaviour } from './behaviour.ts';

export interface InlineTags {
  readonly open: string;
  readonly close: string;
}

/** Where reasoning is written between tags inside the text, these are the tags. */
export function inlineTagsOf(field: Behaviour['reasoningField']): InlineTags | undefined {
  switch (field) {
    case 'think':
      return { open: '<think>\n', close: '\n</think>\n\n' };
    case 'think-implicit':
      return { open: '', close: '\n</think>\n\n' };
    case 'kimi':
      return { open: '◁think▷', close: '◁/think▷' };
    case 'bracket':
      return { open: '[THINK]', close: '[/THINK]' };
    case 'gemma':
      return { open: '<|channel>thought\n', close: '<channel|>' };
    case 'harmony':
      return {
        open: '<|channel|>analysis<|message|>',
        close: '<|end|><|start|>assistant<|channel|>final<|message|>',
      };
    case 'reasoning_content':
    case 'reasoning':
    case 'both':
    case 'both-one-null':
    case undefined:
      return undefined;
  }
}
