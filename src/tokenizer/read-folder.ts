import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { fieldPath } from '../core/failure.ts';
import { BrokenTokenizer } from './broken-tokenizer.ts';
import { tokenizerConfigFile, type TokenizerConfigFile, tokenizerFile, type TokenizerFile } from './tokenizer-file.ts';

/** What a tokenizer folder holds. */
export interface TokenizerFolder {
  readonly tokenizer: TokenizerFile;
  readonly config: TokenizerConfigFile;
  /** The template of chats, and the one for chats with tools where the model has two. */
  readonly template: { readonly source: string; readonly file: string; readonly field: string };
  readonly toolTemplate?: TokenizerFolder['template'];
}

async function readText(root: string, file: string): Promise<string | undefined> {
  try {
    return await readFile(join(root, file), 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
      return undefined;
    throw new BrokenTokenizer({ file, field: '', message: 'cannot be read' }, { cause });
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
  const configName = `${path}/tokenizer_config.json`;
  const templateName = `${path}/chat_template.jinja`;
  const tokenizer = await readJson(root, `${path}/tokenizer.json`, tokenizerFile);
  const config = await readJson(root, configName, tokenizerConfigFile);
  const beside = await readText(root, templateName);
  // As transformers: the file beside wins over the field.
  if (beside !== undefined) return { tokenizer, config, template: { source: beside, file: templateName, field: '' } };
  const named = config.chat_template;
  if (typeof named === 'string') {
    return { tokenizer, config, template: { source: named, file: configName, field: 'chat_template' } };
  }
  const found = (name: string): TokenizerFolder['template'] | undefined => {
    const index = named?.findIndex((entry) => entry.name === name) ?? -1;
    const source = named?.[index]?.template;
    return source === undefined ? undefined : { source, file: configName, field: `chat_template[${index}].template` };
  };
  const template = found('default');
  const toolTemplate = found('tool_use');
  if (template === undefined) {
    const message = 'expected a chat template here or in chat_template.jinja beside';
    throw new BrokenTokenizer({ file: configName, field: 'chat_template', message });
  }
  return { tokenizer, config, template, ...(toolTemplate && { toolTemplate }) };
}
