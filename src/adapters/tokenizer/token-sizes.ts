import { addsPrefix, isByteLevel } from './pre-tokenizer.ts';
import { FieldFault } from './broken-tokenizer.ts';
import { compilePattern } from './text-pattern.ts';
import type { AddedTokenFile, PlainNormalizer, TokenizerFile } from './tokenizer-file.ts';
