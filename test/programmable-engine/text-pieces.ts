import type { Behaviour } from './behaviour.ts';
import { bulkTokenLength, type TextSource } from './bulk-text.ts';
import { tokenEnd } from './tokens.ts';

/** What one chunk brings of a text. A token that spans several chunks counts with the first. */
export interface TextPiece {
  readonly text: string;
  readonly tokens: number;
}

/** The text in the pieces asked for; a bulk text is made as it is read. */
export function* textPieces(text: TextSource, behaviour: Behaviour): Generator<TextPiece> {
  if (typeof text !== 'string') yield* bulkPieces(text, (behaviour.deltaTokens ?? 128) * bulkTokenLength);
  else if (behaviour.deltaChars !== undefined) yield* codePointPieces(text, behaviour.deltaChars);
  else yield* tokenPieces(text, behaviour.deltaTokens ?? 1);
}

function* bulkPieces(text: TextSource, size: number): Generator<TextPiece> {
  for (let at = 0; at < text.length; at += size) {
    const piece = text.slice(at, at + size);
    yield { text: piece, tokens: Math.ceil(piece.length / bulkTokenLength) };
  }
}

function* tokenPieces(text: string, size: number): Generator<TextPiece> {
  for (let at = 0; at < text.length;) {
    let end = at;
    let tokens = 0;
    for (; tokens < size && end < text.length; tokens += 1) end = tokenEnd(text, end);
    yield { text: text.slice(at, end), tokens };
    at = end;
  }
}

function* codePointPieces(text: string, size: number): Generator<TextPiece> {
  let nextToken = 0;
  for (let at = 0; at < text.length;) {
    let end = at;
    for (let points = 0; points < size && end < text.length; points += 1) {
      end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
    }
    let tokens = 0;
    for (; nextToken < end; tokens += 1) nextToken = tokenEnd(text, nextToken);
    yield { text: text.slice(at, end), tokens };
    at = end;
  }
}
