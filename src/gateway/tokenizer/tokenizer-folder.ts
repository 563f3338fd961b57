import { join } from 'node:path';
import { z } from 'zod';
import { fieldPath } from '../../core/failure.ts';
import type { TokenizerProblem } from '../../core/prompt.ts';
import { readBoundedFile, RefusedFile } from '../../process/bounded-file.ts';

export interface TokenizerFolder {
  readonly tokenizer: TokenizerFile;
  readonly config: TokenizerConfigFile;
  /** The chat template, and the one for chats with tools if the model has two. */
  readonly template: ChatTemplateFile | { readonly problem: TokenizerProblem };
  readonly toolTemplate: ChatTemplateFile | undefined;
}

export interface ChatTemplateFile {
  readonly source: string;
  readonly file: string;
  readonly field: string;
}

/** Maximum size of a file of a tokenizer folder, bytes: twice that of the largest public vocabularies. */
const maxTokenizerFileBytes = 64 * 1024 * 1024;

async function readText(root: string, file: string): Promise<string | undefined> {
  try {
    return String(await readBoundedFile(join(root, file), maxTokenizerFileBytes));
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return undefined;
    const message = !(cause instanceof RefusedFile)
      ? 'cannot be read'
      : cause.reason === 'too-large'
        ? `expected at most ${maxTokenizerFileBytes} bytes`
        : 'expected a regular file';
    throw new BrokenTokenizer({ file, field: '', message }, { cause });
  }
}

async function readJson<T extends z.ZodType>(root: string, file: string, schema: T): Promise<z.output<T>> {
  const text = await readText(root, file);
  if (text === undefined) throw new BrokenTokenizer({ file, field: '', message: 'there is no such file' });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BrokenTokenizer({ file, field: '', message: 'expected JSON' }, { cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BrokenTokenizer({
    file,
    field: fieldPath(issue?.path ?? []),
    message: issue?.message ?? 'expected another value',
  });
}

/** Reads a tokenizer folder. Rejects with a `BrokenTokenizer` that names the file and the field. */
export async function readTokenizerFolder(root: string, path: string): Promise<TokenizerFolder> {
  const tokenizer = await readJson(root, `${path}/tokenizer.json`, tokenizerFile);
  const config = await readJson(root, `${path}/tokenizer_config.json`, tokenizerConfigFile);
  const beside = await readText(root, `${path}/chat_template.jinja`);
  return { tokenizer, config, ...templatesIn(path, config, beside) };
}

/** The file `chat_template.jinja` (`beside`) wins over the field `chat_template`, like in transformers. */
function templatesIn(
  path: string,
  { chat_template: named }: TokenizerConfigFile,
  beside: string | undefined,
): Pick<TokenizerFolder, 'template' | 'toolTemplate'> {
  if (beside !== undefined) return onlyTemplate({ source: beside, file: `${path}/chat_template.jinja`, field: '' });
  const file = `${path}/tokenizer_config.json`;
  if (typeof named === 'string') return onlyTemplate({ source: named, file, field: 'chat_template' });
  const found = (name: string): ChatTemplateFile | undefined => {
    const index = named?.findIndex((entry) => entry.name === name) ?? -1;
    const source = named?.[index]?.template;
    return source === undefined ? undefined : { source, file, field: `chat_template[${index}].template` };
  };
  const message = 'expected a chat template here or in chat_template.jinja in the same folder';
  const problem = { file, field: 'chat_template', message };
  return { template: found('default') ?? { problem }, toolTemplate: found('tool_use') };
}

const onlyTemplate = (template: ChatTemplateFile) => ({ template, toolTemplate: undefined });

/**
 * The schemas of the files. Of `tokenizer.json` they have the parts that decide how many tokens a text becomes. Decoder, post-processor, truncation and
 * padding do not: a chat template writes its own special tokens, and transformers adds none to what it has rendered.
 * A part of a kind that is not listed is refused, since ignoring it would give a wrong count.
 */
const pattern = z.union([z.object({ Regex: z.string().min(1) }), z.object({ String: z.string().min(1) })]);
export type Pattern = z.output<typeof pattern>;

const behaviour = z.enum(['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']);
/** How the matches are treated when a text is split. */
export type Behaviour = z.output<typeof behaviour>;

const unicodeForms = ['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase'] as const;
export type UnicodeForm = (typeof unicodeForms)[number];
const plainNormalizer = z.discriminatedUnion('type', [
  z.object({ type: z.enum(unicodeForms) }),
  z.object({ type: z.literal('Prepend'), prepend: z.string() }),
  z.object({ type: z.literal('Replace'), pattern, content: z.string() }),
  z.object({ type: z.literal('Strip'), strip_left: z.boolean(), strip_right: z.boolean() }),
  z.object({ type: z.literal('StripAccents') }),
  z.object({
    type: z.literal('BertNormalizer'),
    clean_text: z.boolean().default(true),
    handle_chinese_chars: z.boolean().default(true),
    strip_accents: z.boolean().nullish(),
    lowercase: z.boolean().default(true),
  }),
  z.object({ type: z.literal('Precompiled'), precompiled_charsmap: z.string() }),
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

const vocab = z.record(z.string(), z.int().min(0).max(0xf_ffff));

const bytePairs = z.object({
  type: z.literal('BPE'),
  vocab,
  merges: z.union([z.array(z.string()), z.array(z.tuple([z.string(), z.string()]))]),
  unk_token: z.string().nullish(),
  dropout: z.number().max(0, 'expected none: it makes the count a matter of chance').nullish(),
  continuing_subword_prefix: affix,
  end_of_word_suffix: affix,
  fuse_unk: z.boolean().nullish(),
  byte_fallback: z.boolean().nullish(),
  ignore_merges: z.boolean().nullish(),
});
export type BytePairsFile = z.output<typeof bytePairs>;

const wordPieces = z.object({
  type: z.literal('WordPiece'),
  vocab,
  unk_token: z.string(),
  continuing_subword_prefix: z.string().default('##'),
  max_input_chars_per_word: z.int().min(1).default(100),
});
export type WordPiecesFile = z.output<typeof wordPieces>;

const unigram = z.object({
  type: z.literal('Unigram'),
  vocab: z.array(z.tuple([z.string(), z.number()])).max(0xf_ffff),
  unk_id: z.int().min(0),
  byte_fallback: z.boolean().nullish(),
});
export type UnigramFile = z.output<typeof unigram>;

const model = z.discriminatedUnion('type', [bytePairs, wordPieces, unigram], {
  error: 'expected a model of type "BPE", "WordPiece" or "Unigram": other kinds cannot be counted',
});
export type ModelFile = z.output<typeof model>;

/** The tokens of a vocabulary, as they are written in it. */
export const tokensIn = (file: ModelFile): readonly string[] =>
  file.type === 'Unigram' ? file.vocab.map(([token]) => token) : Object.keys(file.vocab);

const addedToken = z.object({
  content: z.string().min(1),
  single_word: z.boolean().default(false),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  normalized: z.boolean().optional(),
  special: z.boolean().default(false),
});
export type AddedTokenFile = z.output<typeof addedToken>;

const tokenizerFile = z.object({
  added_tokens: z.array(addedToken).default([]),
  normalizer: normalizer.nullish(),
  pre_tokenizer: preTokenizer.nullish(),
  model,
  // Read by `specialTokensOf`.
  post_processor: z.unknown().optional(),
});
export type TokenizerFile = z.output<typeof tokenizerFile>;

const specialToken = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

/** `tokenizer_config.json`: the chat template, and tokens that win over those of `tokenizer.json`. */
const tokenizerConfigFile = z.object({
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
type TokenizerConfigFile = z.output<typeof tokenizerConfigFile>;

/** Thrown while a tokenizer folder is loaded; says which file and field is at fault. */
export class BrokenTokenizer extends Error {
  readonly problem: TokenizerProblem;

  constructor(problem: TokenizerProblem, options?: ErrorOptions) {
    super(`${problem.file}: ${problem.field === '' ? '' : `${problem.field}: `}${problem.message}`, options);
    this.name = 'BrokenTokenizer';
    this.problem = problem;
  }
}

/** A fault of one field, thrown where the name of the file is not known; `loadTokenizer` adds it. */
export class FieldFault extends Error {
  readonly field: string;

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'FieldFault';
    this.field = field;
  }
}
