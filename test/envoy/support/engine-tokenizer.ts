import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A tokenizer folder that counts as the programmable engine does: each word is one token, for the unknown characters of a word become
 * one unknown token, and there are no others. Directives are not counted, since the engine takes them out before it counts.
 */
export function writeEngineTokenizer(root: string, name: string): void {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  const split = (regex: string, behavior: string): object => ({
    ...{ type: 'Split', pattern: { Regex: regex }, behavior, invert: false },
  });
  const tokenizer = {
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        split('\\s*\\[\\[demo [^\\n]*\\]\\]', 'Removed'),
        split(' ?[A-Za-z]{1,8}|[0-9]{1,3}|[^\\n]|\\n', 'Isolated'),
      ],
    },
    model: { type: 'BPE', vocab: { '<unk>': 0 }, merges: [], unk_token: '<unk>', fuse_unk: true },
  };
  // Four tokens around a message, three around the prompt, and the tools as they came.
  const template =
    "{% for message in messages %}....{{ message.content }}{% endfor %}{% if tools %}{{ tools | tojson(separators=(',', ':')) }}{% endif %}...";
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify({ chat_template: template }));
}
