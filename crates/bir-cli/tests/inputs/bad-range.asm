.target trn2
Memset num_active_channels=300
