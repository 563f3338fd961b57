import { isObject } from '../../core/json.ts';

/** Tokens that a tokenizer itself adds around a text, and around a pair of texts. */
export interface SpecialTokens {
  readonly single: number;
  readonly pair: number;
}

const none: SpecialTokens = { single: 0, pair: 0 };

/**
 * Reads `post_processor` of `tokenizer.json` (https://huggingface.co/docs/tokenizers/api/post-processors). Engines add its tokens to
 * inputs of embeddings, not to prompts of chats. A kind that is not known adds none: the count then errs low.
 */
export function specialTokensOf(processor: unknown): SpecialTokens {
  if (!isObject(processor)) return none;
  switch (processor['type']) {
    case 'TemplateProcessing':
      return { single: countSpecial(processor['single']), pair: countSpecial(processor['pair']) };
    case 'BertProcessing':
      return { single: 2, pair: 3 };
    case 'RobertaProcessing':
      return { single: 2, pair: 4 };
    case 'Sequence': {
      const { processors } = processor;
      const each = Array.isArray(processors) ? processors.map(specialTokensOf) : [];
      return each.reduce((sum, { single, pair }) => ({ single: sum.single + single, pair: sum.pair + pair }), none);
    }
    default:
      return none;
  }
}

const countSpecial = (pieces: unknown): number =>
  Array.isArray(pieces) ? pieces.filter((piece) => isObject(piece) && 'SpecialToken' in piece).length : 0;
