import type { TokenizerProblem } from '../core/prompt.ts';

/** Thrown while a tokenizer folder is loaded; says which file and field is at fault. */
export class BrokenTokenizer extends Error {
  readonly problem: TokenizerProblem;

  constructor(problem: TokenizerProblem, options?: ErrorOptions) {
    super(`${problem.file}: ${problem.field === '' ? '' : `${problem.field}: `}${problem.message}`, options);
    this.name = 'BrokenTokenizer';
    this.problem = problem;
  }
}

/** A fault of one field, thrown by who reads the field and does not know the file. */
export class FieldFault extends Error {
  readonly field: string;

  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'FieldFault';
    this.field = field;
  }
}
