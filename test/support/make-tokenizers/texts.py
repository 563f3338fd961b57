"""Trains three small tokenizers of the kinds that embedding models have, and writes texts with the reference's counts. See README.md."""
import base64
import json
import pathlib
import random
import sys
import tempfile

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from pydoc_data import topics
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = pathlib.Path(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 400
# The rules that SentencePiece has built in are 300 KB; without an argument, a few of the same kind are compiled.
RULES = sys.argv[3] if len(sys.argv) > 3 else None
chance = random.Random(20260102)
PROSE = [line.strip() for text in topics.topics.values() for line in text.splitlines() if len(line.strip()) > 20]
# Assigned before Unicode 8, which the reference knows.
SCRIPTS = [(0x20, 0x7e)] * 4 + [(0xa0, 0x24f), (0x300, 0x36f), (0x370, 0x3ff), (0x400, 0x4ff), (0x5d0, 0x5ea), (0x620, 0x652), (0x904, 0x94d),
           (0xe01, 0xe3a), (0x1100, 0x11f9), (0x1e00, 0x1eff), (0x1f00, 0x1f4d), (0x2000, 0x206f), (0x20a0, 0x20b9), (0x2100, 0x218a), (0x2460, 0x24ff),
           (0x3000, 0x303f), (0x3041, 0x3096), (0x30a1, 0x30fe), (0x3400, 0x3500), (0x4e00, 0x9fa5), (0xac00, 0xd7a3), (0xf900, 0xfa6d), (0xfb00, 0xfb06),
           (0xfe00, 0xfe0f), (0xff01, 0xffee), (0x1d400, 0x1d4ff), (0x1f600, 0x1f64f), (0x1f3fb, 0x1f3ff), (0x20000, 0x20100), (0x2f800, 0x2fa1d), (0x0, 0x1f)]
ODD = ['', ' ', '  ', '\n', '\r\n', 'a\r\nb', ' a  b ', 'ΟΔΟΣ ΣΑΣ', 'İstanbul', 'e\u0301 e\u0301\u0323 a\u200d', '\u0915\u094d\u0937', '각 \u1112\u1161\u11ab', 'ﷺ', '½ ㎏ ﬁ ™',
       '\U00020000漢', '[CLS] [SEP] [MASK]', '<s></s><mask> <unk>', 'a<mask>b', '▁a▁▁b', '\x00\ufffd\ue000', 'x' * 99, 'x' * 100, 'x' * 101, '字' * 101, '\t\ttab', "don't U.S.A. 3.14",
       '👩‍👩‍👧 👍🏽', '\u0600a \u0d4ea', '\u00a0\u2003\u3000', 'naïve Ångström', '～', '!' * 300, 'ᾳ ᾴ', 'a\u0300' * 40, '\u0e01\u0e33']


def word():
    low, high = chance.choice(SCRIPTS)
    return ''.join(chr(chance.randint(low, high)) for _ in range(chance.choice([1, 1, 2, 3, 5, 8, 13])))


def text():
    kind = chance.random()
    if kind < 0.3:
        start = chance.randrange(len(PROSE) - 4)
        return chance.choice(['\n', ' ', '  ']).join(PROSE[start:start + chance.randint(1, 3)])
    pieces = [chance.choice([word(), word(), chance.choice(PROSE).split()[0], chance.choice(ODD[5:])]) for _ in range(chance.randint(1, 25))]
    return chance.choice([' ', ' ', '', '\n']).join(pieces)


def char_map():
    """What SentencePiece compiles of its rules: control characters and blanks, compatibility forms, compositions."""
    folder = pathlib.Path(tempfile.mkdtemp())
    rules = {'\t': ' ', '\n': ' ', '\r': ' ', '\r\n': ' ', '\u00a0': ' ', '\u3000': ' ', '\u200b': ' ', '\ufeff': '', '\x01': '', '\u200d': ' ', '½': '1⁄2', 'ﬁ': 'fi', 'ﷺ': 'صلى الله عليه وسلم',
             '㎏': 'kg', '™': 'TM', '…': '...', 'e\u0301': 'é', 'a\u0300': 'à', '\u0344': '\u0308\u0301', '\u1112\u1161\u11ab': '한', 'Ａ': 'A', '\U0001d400': 'A'}
    table = '\n'.join('\t'.join(' '.join(f'{ord(c):X}' for c in side) for side in pair) for pair in rules.items())
    (folder / 'rules.tsv').write_text(table + '\n')
    (folder / 'prose.txt').write_text('\n'.join(PROSE[:3000]))
    rule = {'normalization_rule_name': RULES} if RULES else {'normalization_rule_tsv': str(folder / 'rules.tsv')}
    sentencepiece.SentencePieceTrainer.train(input=str(folder / 'prose.txt'), model_prefix=str(folder / 'm'), vocab_size=300, minloglevel=2, **rule)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString((folder / 'm.model').read_bytes())
    return proto.normalizer_spec.precompiled_charsmap


def bert():
    made = Tokenizer(models.WordPiece(unk_token='[UNK]'))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
    made.train_from_iterator(TRAINING, trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, limit_alphabet=300, show_progress=False))
    made.post_processor = processors.TemplateProcessing(single='[CLS] $A [SEP]', pair='[CLS] $A [SEP] $B:1 [SEP]:1',
                                                        special_tokens=[(t, made.token_to_id(t)) for t in ('[CLS]', '[SEP]')])
    return made


def unigram(byte_fallback):
    special = ['<s>', '<pad>', '</s>', '<unk>']
    made = Tokenizer(models.Unigram())
    steps = [normalizers.Precompiled(char_map()), normalizers.Replace(Regex(' {2,}'), ' ')] if not byte_fallback else [normalizers.NFKC(), normalizers.StripAccents()]
    made.normalizer = normalizers.Sequence(steps)
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]) if not byte_fallback else pre_tokenizers.Metaspace(prepend_scheme='first')
    bytes_ = [f'<0x{b:02X}>' for b in range(256)] if byte_fallback else []
    # The trainer takes every character that it sees into the vocabulary.
    seen = [''.join(c for c in one if c < '\u0530' or '\u3041' <= c <= '\u30fe' or c in '我能吞下玻璃而不伤身体字漢') for one in TRAINING]
    made.train_from_iterator(seen, trainers.UnigramTrainer(vocab_size=1200 + len(bytes_), special_tokens=special + bytes_, unk_token='<unk>', show_progress=False))
    raw = json.loads(made.to_str())
    raw['model']['byte_fallback'] = byte_fallback
    # The trainer makes the bytes added tokens; SentencePiece's converter does not.
    raw['added_tokens'] = [t for t in raw['added_tokens'] if not t['content'].startswith('<0x')]
    made = Tokenizer.from_str(json.dumps(raw))
    made.add_special_tokens([__import__('tokenizers').AddedToken('<mask>', lstrip=True, special=True)])
    made.post_processor = processors.TemplateProcessing(single='<s> $A </s>', pair='<s> $A </s> </s> $B </s>',
                                                        special_tokens=[(t, made.token_to_id(t)) for t in ('<s>', '</s>')])
    return made


TRAINING = PROSE[:2500] + [text() for _ in range(1200)]
tokenizers = {'bert': bert(), 'xlm-roberta': unigram(False), 'byte-fallback': unigram(True)}
for name, made in tokenizers.items():
    (OUT / name).mkdir(parents=True, exist_ok=True)
    raw = json.loads(made.to_str())
    (OUT / name / 'tokenizer.json').write_text(json.dumps(raw, ensure_ascii=True, separators=(',', ':')) + '\n')
    (OUT / name / 'tokenizer_config.json').write_text('{}\n')
    tokenizers[name] = Tokenizer.from_file(str(OUT / name / 'tokenizer.json'))
texts = ODD + [text() for _ in range(COUNT - len(ODD))]
cases = [{'text': one, 'tokens': {name: len(made.encode(one)) for name, made in tokenizers.items()},
          'pair': {name: len(made.encode('What is a weir?', one)) for name, made in tokenizers.items()}} for one in texts]
(OUT / 'texts.json').write_text('[\n' + ',\n'.join(json.dumps(case, ensure_ascii=True) for case in cases) + '\n]\n')
for name in tokenizers:
    print(name, sum(case['tokens'][name] for case in cases))
