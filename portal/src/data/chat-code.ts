import type { ModelObject } from '../../../src/portal/api/catalog.ts';
import type { ChatRequest } from './chat-request.ts';

interface CodeOptions {
  /** Where clients call the gateway, with `/v1`. */
  readonly url: string;
  /** Names of the files of the images in the request, by their data URLs. */
  readonly files?: ReadonlyMap<string, string>;
  /** Text of a key to fill in. Undefined: programs read it from the variable WEIR_KEY. */
  readonly key?: string;
}

/** A first request to a model: texts for one that makes vectors, a question for others. */
export const firstRequest = ({ id: model, kind }: Pick<ModelObject, 'id' | 'kind'>): object =>
  kind === 'embedding'
    ? { model, input: ['Hello!', 'How are you?'] }
    : { model, messages: [{ role: 'user', content: 'Hello!' }] };

/** The path of a request, the name of its call in libraries, and what a program prints of the answer. */
function surfaceOf(request: Partial<ChatRequest>) {
  if (request.messages === undefined) return { path: 'embeddings', name: 'embeddings', said: 'data[0].embedding' };
  const said = request.tools === undefined ? 'choices[0].message.content' : 'choices[0].message';
  return { path: 'chat/completions', name: 'chat.completions', said };
}

const noFiles: ReadonlyMap<string, string> = new Map();

/** A request as programs that send it. They read images from files. */
export function codeOf(request: Partial<ChatRequest>, options: CodeOptions) {
  return [
    { name: 'curl', code: curlOf(request, options) },
    { name: 'Python', code: pythonOf(request, options) },
    { name: 'Node', code: nodeOf(request, options) },
  ] as const;
}

const typeOf = (dataUrl: string): string => dataUrl.slice('data:'.length, dataUrl.indexOf(';'));
const shellText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

function curlOf(request: Partial<ChatRequest>, { url, key, files = noFiles }: CodeOptions): string {
  const json = JSON.stringify(request, null, 2);
  const images = [...files].filter(([dataUrl]) => json.includes(dataUrl));
  // Where the shell puts the images in, it would also put in what follows a `$` elsewhere.
  const escaped = images.length === 0 ? json : json.replaceAll(/[\\$`]/g, (sign) => `\\${sign}`);
  const body = images.reduce(
    (text, [dataUrl, file]) =>
      text.replaceAll(dataUrl, () => `data:${typeOf(dataUrl)};base64,$(base64 < ${shellText(file)} | tr -d '\\n')`),
    escaped,
  );
  return `curl ${url}/${surfaceOf(request).path} \\
  -H "Authorization: Bearer ${key ?? '$WEIR_KEY'}" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<${images.length === 0 ? "'JSON'" : 'JSON'}
${body}
JSON`;
}

function pythonOf(request: Partial<ChatRequest>, { url, key, files = noFiles }: CodeOptions): string {
  const words = { true: 'True', false: 'False', null: 'None' };
  const { fields, hasImages } = argumentsOf(request, files, { words, indent: '    ', sets: '=', quote: '"' });
  const helper = `
def image(path, kind):
    with open(path, "rb") as file:
        return f"data:{kind};base64,{base64.b64encode(file.read()).decode()}"

`;
  const { name, said } = surfaceOf(request);
  return `${hasImages ? 'import base64\n' : ''}${key === undefined ? 'import os\n' : ''}from openai import OpenAI
${hasImages ? helper : ''}
client = OpenAI(base_url="${url}", api_key=${key === undefined ? 'os.environ["WEIR_KEY"]' : JSON.stringify(key)})
answer = client.${name}.create(
${fields}
)
print(answer.${said})`;
}

function nodeOf(request: Partial<ChatRequest>, { url, key, files = noFiles }: CodeOptions): string {
  const words = { true: 'true', false: 'false', null: 'null' };
  const { fields, hasImages } = argumentsOf(request, files, { words, indent: '  ', sets: ': ', quote: "'" });
  const helper = "const image = (path, type) => `data:${type};base64,${readFileSync(path, 'base64')}`;\n";
  const { name, said } = surfaceOf(request);
  return `${hasImages ? "import { readFileSync } from 'node:fs';\n" : ''}import OpenAI from 'openai';

${hasImages ? helper : ''}const client = new OpenAI({ baseURL: '${url}', apiKey: ${key === undefined ? 'process.env.WEIR_KEY' : `'${key}'`} });
const answer = await client.${name}.create({
${fields}
});
console.log(answer.${said});`;
}

const fieldsOf = (of: object): readonly (readonly [string, unknown])[] =>
  Object.entries(of).filter(([, value]) => value !== undefined);

interface Notation {
  readonly words: Readonly<Record<'true' | 'false' | 'null', string>>;
  readonly indent: string;
  /** Between the name of an argument and its value. */
  readonly sets: string;
  readonly quote: string;
}

/** Values up to this length stay on one line. */
const longestLine = 80;

/** Writes a request as arguments of a call. Both languages read the texts and numbers of JSON; the names of its constants differ. */
function argumentsOf(request: object, files: ReadonlyMap<string, string>, { words, indent, sets, quote }: Notation) {
  let hasImages = false;

  function write(value: unknown, before: string): string {
    if (typeof value === 'string') {
      const file = files.get(value);
      hasImages ||= file !== undefined;
      const json = JSON.stringify(file ?? value);
      return file === undefined ? json : `image(${json}, ${quote}${typeOf(value)}${quote})`;
    }
    if (typeof value === 'boolean') return words[value ? 'true' : 'false'];
    if (value === null) return words.null;
    if (typeof value !== 'object') return JSON.stringify(value);
    const inner = before + indent;
    const parts = Array.isArray(value)
      ? value.map((one) => write(one, inner))
      : fieldsOf(value).map(([name, one]) => `${JSON.stringify(name)}: ${write(one, inner)}`);
    const [open, close] = Array.isArray(value) ? '[]' : '{}';
    const line = `${open}${parts.join(', ')}${close}`;
    if (line.length <= longestLine && !line.includes('\n')) return line;
    return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${before}${close}`;
  }

  const lines = fieldsOf(request).map(([name, value]) => `${indent}${name}${sets}${write(value, indent)},`);
  return { fields: lines.join('\n'), hasImages };
}
