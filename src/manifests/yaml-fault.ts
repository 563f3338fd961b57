import type { ErrorCode } from 'yaml';

/**
 * What each syntax error of the `yaml` package means, without the text it was found in: the package's own messages
 * quote the file, and the file may hold a Secret.
 */
export const yamlFaults: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'expected no anchor or tag on an alias',
  BAD_ALIAS: 'expected an alias of an anchor that stands before it',
  BAD_COLLECTION_TYPE: 'expected a tag that fits the kind of value',
  BAD_DIRECTIVE: 'expected a known %-directive',
  BAD_DQ_ESCAPE: 'expected a valid escape in double quotes',
  BAD_INDENT: 'expected other indentation, or a closing bracket',
  BAD_PROP_ORDER: 'expected anchor and tag before the value',
  BAD_SCALAR_START: 'expected quotes around text that begins like this',
  BLOCK_AS_IMPLICIT_KEY: 'expected one "key: value" on a line',
  BLOCK_IN_FLOW: 'expected no block inside [ ] or { }',
  DUPLICATE_KEY: 'expected each field once',
  IMPOSSIBLE: 'expected valid YAML',
  KEY_OVER_1024_CHARS: 'expected a field name below 1024 characters',
  MISSING_CHAR: 'expected a missing ":", comma, quote, bracket or space',
  MULTILINE_IMPLICIT_KEY: 'expected a field name on one line',
  MULTIPLE_ANCHORS: 'expected one anchor at most',
  MULTIPLE_DOCS: 'expected one document',
  MULTIPLE_TAGS: 'expected one tag at most',
  NON_STRING_KEY: 'expected text as the name of a field',
  RESOURCE_EXHAUSTION: 'expected less nesting',
  TAB_AS_INDENT: 'expected spaces for indentation, not tabs',
  TAG_RESOLVE_FAILED: 'expected no tag of its own, or a value that fits it',
  UNEXPECTED_TOKEN: 'expected valid YAML, something does not belong here',
};
