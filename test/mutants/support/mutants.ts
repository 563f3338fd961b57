/** A change of the code, as Stryker reports it. Lines and columns are counted from 1 on. */
export interface Mutant {
  readonly status: string;
  readonly fileName: string;
  readonly mutatorName: string;
  readonly replacement: string;
  readonly location: { readonly start: Position; readonly end: Position };
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** Where a position is in a text. */
export function offsetOf(text: string, { line, column }: Position): number {
  let at = 0;
  for (let number = 1; number < line; number += 1) at = text.indexOf('\n', at) + 1;
  return at + column - 1;
}

/** The text with the change. */
export function mutate(text: string, { replacement, location }: Pick<Mutant, 'replacement' | 'location'>): string {
  return text.slice(0, offsetOf(text, location.start)) + replacement + text.slice(offsetOf(text, location.end));
}

/** A range of a function or a block, as V8 counts it: inner ones inside the ones before them. */
export interface CountedRange {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** Whether the code at an offset has run: the smallest range around it says so. */
export function isReached(ranges: readonly CountedRange[], offset: number): boolean {
  let [smallest, count] = [Infinity, 0];
  for (const range of ranges) {
    const size = range.endOffset - range.startOffset;
    if (range.startOffset > offset || range.endOffset <= offset || size > smallest) continue;
    [smallest, count] = [size, range.count];
  }
  return count > 0;
}
