import { z } from 'zod';

/**
 * The parts of `tokenizer.json` that decide how many tokens a text becomes. Decoder, post-processor, truncation and
 * padding do not: a chat template writes its own special tokens, and transformers adds none to what it has rendered.
 * A part of a kind that is not listed is refused, since ignoring it would give a wrong count.
 */
const pattern = z.union([z.object({ Regex: z.string().min(1) }), z.object({ String: z.string().min(1) })]);
export type Pattern = z.output<typeof pattern>;

export const behaviours = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'] as const;
/** What becomes of the matches when a text is split. */
export type Behaviour = (typeof behaviours)[number];
const behaviour = z.enum(behaviours);

const plainNormalizer = z.discriminatedUnion('type', [
  z.object({ type: z.enum(['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase']) }),
  z.object({ type: z.literal('Prepend'), prepend: z.string() }),
  z.object({ type: z.literal('Replace'), pattern, content: z.string() }),
  z.object({ type: z.literal('Strip'), strip_left: z.boolean(), strip_right: z.boolean() }),
]);
const normalizer = z.discriminatedUnion('type', [
  plainNormalizer,
  z.object({ type: z.literal('Sequence'), normalizers: z.array(plainNormalizer) }),
]);
export type PlainNormalizer = z.output<typeof plainNormalizer>;
export type NormalizerFile = z.output<typeof normalizer>;

const plainPreTokenizer = z.discriminatedUnion('type', [
  z.object({ type: z.literal('Split'), pattern, behavior: behaviour, invert: z.boolean().default(false) }),
  z.object({
    type: z.literal('ByteLevel'),
    add_prefix_space: z.boolean().default(true),
    use_regex: z.boolean().default(true),
  }),
  z.object({
    type: z.literal('Metaspace'),
    replacement: z.string().length(1).default('▁'),
    prepend_scheme: z.enum(['always', 'first', 'never']).default('always'),
    split: z.boolean().default(true),
  }),
  z.object({ type: z.literal('Digits'), individual_digits: z.boolean().default(false) }),
  z.object({ type: z.literal('Punctuation'), behavior: behaviour.default('Isolated') }),
  z.object({ type: z.enum(['Whitespace', 'WhitespaceSplit', 'BertPreTokenizer']) }),
]);
const preTokenizer = z.discriminatedUnion('type', [
  plainPreTokenizer,
  z.object({ type: z.literal('Sequence'), pretokenizers: z.array(plainPreTokenizer) }),
]);
export type PlainPreTokenizer = z.output<typeof plainPreTokenizer>;
export type PreTokenizerFile = z.output<typeof preTokenizer>;

const affix = z
  .string()
  .nullish()
  .refine((value) => value === undefined || value === null || value === '', { error: 'expected none' });

const model = z.object({
  type: z.literal('BPE', { error: 'expected "BPE": prompts of other kinds of tokenizers cannot be counted' }),
  vocab: z.record(z.string(), z.int().min(0).max(0xf_ffff)),
  merges: z.union([z.array(z.string()), z.array(z.tuple([z.string(), z.string()]))]),
  unk_token: z.string().nullish(),
  dropout: z.number().max(0, 'expected none: it makes the count a matter of chance').nullish(),
  continuing_subword_prefix: affix,
  end_of_word_suffix: affix,
  fuse_unk: z.boolean().nullish(),
  byte_fallback: z.boolean().nullish(),
  ignore_merges: z.boolean().nullish(),
});
export type ModelFile = z.output<typeof model>;

const addedToken = z.object({
  content: z.string().min(1),
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().optional(),
  special: z.boolean().default(false),
});
export type AddedTokenFile = z.output<typeof addedToken>;

export const tokenizerFile = z.object({
  added_tokens: z.array(addedToken).default([]),
  normalizer: normalizer.nullish(),
  pre_tokenizer: preTokenizer.nullish(),
  model,
});
export type TokenizerFile = z.output<typeof tokenizerFile>;

const specialToken = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

/** `tokenizer_config.json`: the chat template, and tokens that wins over those of `tokenizer.json`. */
export const tokenizerConfigFile = z.object({
  chat_template: z.union([z.string(), z.array(z.object({ name: z.string(), template: z.string() })).min(1)]).nullish(),
  added_tokens_decoder: z.record(z.string(), addedToken).default({}),
  bos_token: specialToken.nullish(),
  eos_token: specialToken.nullish(),
  unk_token: specialToken.nullish(),
  sep_token: specialToken.nullish(),
  pad_token: specialToken.nullish(),
  cls_token: specialToken.nullish(),
  mask_token: specialToken.nullish(),
});
export type TokenizerConfigFile = z.output<typeof tokenizerConfigFile>;
